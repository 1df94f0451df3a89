package simulation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"heddle/core/lab/sim"
	"heddle/core/model"
)

// parseLosses reads which nodes are lost, when and for how long.
func parseLosses(texts []string) ([]sim.Loss, error) {
	var losses []sim.Loss
	for _, text := range texts {
		l, err := parseLoss(text)
		if err != nil {
			return nil, fmt.Errorf("--lose %q: %w; want a rack or a node of one and a time, such as rack=2,at=10m,for=5m or node=2/3,at=600s", text, err)
		}
		losses = append(losses, l)
	}
	return losses, nil
}

// parseLoss reads key=value pairs.
func parseLoss(text string) (sim.Loss, error) {
	var l sim.Loss
	given := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(pair, "=")
		if given[key] {
			return l, fmt.Errorf("%s is there twice", key)
		}
		given[key] = true
		var err error
		switch key {
		case "rack":
			l.Rack, err = parseNumber(value)
		case "node":
			rack, node, _ := strings.Cut(value, "/")
			if l.Rack, err = parseNumber(rack); err == nil {
				l.Node, err = parseNumber(node)
			}
		case "at":
			var at model.Duration
			at, err = parseMoment(value)
			l.At = model.Time(at)
		case "for":
			if l.For, err = parseMoment(value); err == nil && l.For == 0 {
				err = errors.New("not above 0")
			}
		default:
			err = errors.New("not a key")
		}
		if err != nil {
			return l, fmt.Errorf("%s: %w", pair, err)
		}
	}
	if given["rack"] == given["node"] {
		return l, errors.New("give one of rack and node")
	}
	if !given["at"] {
		return l, errors.New("no at")
	}
	return l, nil
}

// parseNumber reads the number of a rack, or of a node in it.
func parseNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("not a number from 1 on")
	}
	return n, nil
}

// parseMoment reads a time in whole milliseconds.
func parseMoment(text string) (model.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		return 0, errors.New("not a time in whole milliseconds")
	}
	return model.Duration(d.Milliseconds()), nil
}
