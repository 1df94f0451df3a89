// Package strict reads settings into a struct whose tags say the name, default, range
// and format of each key. Values come from YAML, text and other layers; every
// problem is reported with its key and its line, and an unknown key is one.
package strict
