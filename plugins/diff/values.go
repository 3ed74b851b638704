package main

// JSON as it is read and written. Numbers stay texts all the way, so that the longest are compared exactly.

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// deepestJSON is how deep values may be nested; a plugin's stack holds a few times as much.
const deepestJSON = 500

// measure is how many values a JSON text has at most and how deep they are, found without the cost of reading them.
func measure(text string) (count, deepest int) {
	depth, quoted := 0, false
	count = 1
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case quoted && text[i] == '\\':
			i++
		case quoted:
		case text[i] == ',':
			count++
		case text[i] == '[' || text[i] == '{':
			count, depth = count+1, depth+1
			deepest = max(deepest, depth)
		case text[i] == ']' || text[i] == '}':
			depth--
		}
	}
	return count, deepest
}

func parseJSON(name, text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	if err == nil {
		if _, err = decoder.Token(); err == io.EOF {
			return value, nil
		}
		err = fmt.Errorf("something follows the value")
	}
	return nil, fmt.Errorf("`%s` is not JSON: %w; give one JSON value as a text", name, err)
}

// compact is a value as it would be written by hand: without codes for letters that need none.
func compact(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// normal is one spelling for all that mean the same number: 1, 1.0 and 10e-1. It never calculates with the exponent's
// size.
func normal(number string) string {
	digits, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(digits[at+1:]); err != nil || max(exponent, -exponent) > 1<<40 {
			return number
		}
		digits = digits[:at]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	switch {
	case short == "":
		return "0"
	case negative:
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}
