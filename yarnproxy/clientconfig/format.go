package clientconfig

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Formats returns the ways to print settings, by name.
func Formats() map[string]func(io.Writer, []Setting) error {
	return map[string]func(io.Writer, []Setting) error{
		"properties": writeProperties, "xml": writeXML, "flags": writeFlags, "spark": writeSpark,
	}
}

// writeProperties prints settings, each with a comment on its purpose.
func writeProperties(w io.Writer, settings []Setting) error {
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
func writeXML(w io.Writer, settings []Setting) error {
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

// writeFlags prints settings as flags of Hadoop's tools, one a line, for $(…) in a shell.
func writeFlags(w io.Writer, settings []Setting) error {
	return writeLines(w, "-D", settings)
}

// writeSpark prints settings for spark-submit.
func writeSpark(w io.Writer, settings []Setting) error {
	return writeLines(w, "--conf spark.hadoop.", settings)
}

func writeLines(w io.Writer, prefix string, settings []Setting) error {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString(prefix + s.Key + "=" + s.Value + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
