package plugport

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// piece is a part of a URI template: text as it stands, one variable, or a query.
type piece struct {
	literal string
	names   []string
	// prefix stands before a variable, which may be left out together with it.
	prefix string
	// reserved says that a variable may hold /, ? and #.
	reserved bool
	query    bool
}

func (p *piece) optional() bool { return p.prefix != "" }

// parseTemplate takes apart an RFC 6570 template of the operators that can be read backwards without guessing.
func parseTemplate(template string) ([]piece, error) {
	var pieces []piece
	for rest := template; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if literal != "" {
			pieces = append(pieces, piece{literal: literal})
		}
		if !found {
			break
		}
		expression, next, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("a `{` is not closed; write variables as {name}")
		}
		piece, err := parseExpression(expression)
		if err != nil {
			return nil, err
		}
		pieces, rest = append(pieces, piece), next
	}
	return pieces, nil
}

func parseExpression(expression string) (piece, error) {
	var parsed piece
	operator := ""
	if expression != "" && strings.Contains("+#/?&", expression[:1]) {
		operator, expression = expression[:1], expression[1:]
	}
	parsed.query = operator == "?" || operator == "&"
	parsed.reserved = operator == "+" || operator == "#"
	if operator != "+" {
		parsed.prefix = operator
	}
	parsed.names = strings.Split(expression, ",")
	for _, name := range parsed.names {
		if name == "" || strings.ContainsAny(name, ".;|!@=*:+#/?& ") {
			return parsed, fmt.Errorf("`{%s%s}` is not supported; use {x}, {+x}, {/x}, {#x}, {?x,y} or {&x,y}", operator, expression)
		}
	}
	if len(parsed.names) > 1 && !parsed.query {
		return parsed, fmt.Errorf("`{%s%s}` holds several variables; give each its own braces", operator, expression)
	}
	return parsed, nil
}

// checkTemplate compares the variables with the fields of the struct that gets them.
func checkTemplate(template string, t reflect.Type) error {
	pieces, err := parseTemplate(template)
	if err != nil {
		return err
	}
	fields, err := textFields(t)
	if err != nil {
		return err
	}
	var names []string
	for _, field := range fields {
		names = append(names, field.Name)
	}
	var variables []string
	for _, piece := range pieces {
		variables = append(variables, piece.names...)
		for _, name := range piece.names {
			at := slices.Index(names, name)
			if at < 0 {
				return fmt.Errorf("%s has no field for the variable %q; add one", t, name)
			}
			if piece.optional() && !fields[at].Optional() {
				return fmt.Errorf("%q may be left out of the URI; add omitempty to its json tag", name)
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(variables, name) {
			return fmt.Errorf("there is no variable for the field %q of %s; add {%s}", name, t, name)
		}
	}
	return nil
}

// mostTries is how many beginnings of what is left of a URI are looked at. No sensible URI needs a tenth of it, and one that
// was made to cost much costs a small part of a call.
const mostTries = 10_000

// search lays the pieces along a URI from left to right, each as long as it can be. What led nowhere is remembered.
type search struct {
	dead   map[[2]int]bool
	values map[string]string
	tries  int
}

func matchTemplate(pieces []piece, uri string) (map[string]string, bool) {
	s := &search{dead: map[[2]int]bool{}, values: map[string]string{}}
	return s.values, s.from(pieces, uri)
}

func (s *search) from(pieces []piece, rest string) bool {
	if len(pieces) == 0 {
		return rest == ""
	}
	if s.tries++; s.tries > mostTries {
		return false
	}
	place := [2]int{len(pieces), len(rest)}
	if s.dead[place] {
		return false
	}
	fits := s.first(pieces[0], pieces[1:], rest)
	if !fits {
		s.dead[place] = true
	}
	return fits
}

func (s *search) first(piece piece, others []piece, rest string) bool {
	if piece.literal != "" {
		rest, fits := strings.CutPrefix(rest, piece.literal)
		return fits && s.from(others, rest)
	}
	after, begun := strings.CutPrefix(rest, piece.prefix)
	switch {
	case piece.query && begun:
		return s.query(piece, others, after)
	case begun && s.value(piece, others, after):
		return true
	}
	return piece.optional() && s.from(others, rest)
}

// value tries the longest value first.
func (s *search) value(piece piece, others []piece, text string) bool {
	longest := len(text)
	if end := strings.IndexAny(text, "/?#"); end >= 0 && !piece.reserved {
		longest = end
	}
	for _, end := range slices.Backward(ends(text[:longest])) {
		if s.from(others, text[end:]) {
			s.values[piece.names[0]], _ = decode(text[:end])
			return true
		}
	}
	return false
}

// ends are where a value may end: behind each letter, and never inside of one or of %41. What cannot be decoded is in no
// value.
func ends(text string) []int {
	var ends []int
	letter := ""
	for at := 0; at < len(text); {
		size := 1
		if text[at] == '%' {
			size = min(len("%41"), len(text)-at)
		}
		decoded, fits := url.PathUnescape(text[at : at+size])
		if fits != nil {
			break
		}
		at, letter = at+size, letter+decoded
		if !utf8.FullRuneInString(letter) {
			continue
		}
		if !utf8.ValidString(letter) {
			break
		}
		ends, letter = append(ends, at), ""
	}
	return ends
}

// query ends where the URI or its fragment does, so there is only one way to read it. A long one counts as much.
func (s *search) query(piece piece, others []piece, text string) bool {
	end := len(text)
	if fragment := strings.IndexByte(text, '#'); fragment >= 0 {
		end = fragment
	}
	s.tries += end
	values := map[string]string{}
	for _, pair := range strings.Split(text[:end], "&") {
		name, value, _ := strings.Cut(pair, "=")
		decoded, fits := decode(value)
		if !fits || !slices.Contains(piece.names, name) {
			return false
		}
		values[name] = decoded
	}
	if !s.from(others, text[end:]) {
		return false
	}
	for name, value := range values {
		s.values[name] = value
	}
	return true
}

func decode(text string) (string, bool) {
	decoded, err := url.PathUnescape(text)
	return decoded, err == nil && utf8.ValidString(decoded)
}
