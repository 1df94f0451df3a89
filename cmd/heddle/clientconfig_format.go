package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// writeProperties prints settings with what they are for.
func writeProperties(w io.Writer, settings []setting) error {
	for _, s := range settings {
		if s.Why != "" {
			fmt.Fprintf(w, "# %s\n", s.Why)
		}
		if _, err := fmt.Fprintf(w, "%s=%s\n", s.Key, s.Value); err != nil {
			return err
		}
	}
	return nil
}

// writeXML prints settings for a client's yarn-site.xml.
func writeXML(w io.Writer, settings []setting) error {
	type property struct {
		Name        string `xml:"name"`
		Value       string `xml:"value"`
		Description string `xml:"description,omitempty"`
	}
	doc := struct {
		XMLName    xml.Name   `xml:"configuration"`
		Comment    string     `xml:",comment"`
		Properties []property `xml:"property"`
	}{Comment: " For jobs and clients. Not for the yarn-site.xml of ResourceManagers and NodeManagers. "}
	for _, s := range settings {
		doc.Properties = append(doc.Properties, property{s.Key, s.Value, s.Why})
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("print the settings as XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n%s\n", text)
	return err
}

// writeFlags prints settings as Hadoop's tools take them on a command line, one
// to a line: what $(…) of a shell splits again.
func writeFlags(w io.Writer, settings []setting) error {
	return writeLines(w, "-D", settings)
}

// writeSpark prints settings for spark-submit.
func writeSpark(w io.Writer, settings []setting) error {
	return writeLines(w, "--conf spark.hadoop.", settings)
}

func writeLines(w io.Writer, prefix string, settings []setting) error {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString(prefix + s.Key + "=" + s.Value + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
