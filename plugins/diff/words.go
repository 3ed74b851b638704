package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type wordsResult struct {
	Same   bool   `json:"same" desc:"Whether there is no difference."`
	Parts  []part `json:"parts" desc:"The texts in pieces. Those that are same and removed make up the old text, same and added the new one."`
	Coarse bool   `json:"coarse,omitempty" desc:"Whether the texts differ so much that a shorter difference may exist."`
}

type part struct {
	Kind string `json:"kind" enum:"same,removed,added"`
	Text string `json:"text"`
}

// ToolText is the new text, with marks around what is gone and what is new.
func (r wordsResult) ToolText() string {
	marks := map[string][2]string{"same": {}, "removed": {"[-", "-]"}, "added": {"{+", "+}"}}
	var out strings.Builder
	for _, part := range r.Parts {
		out.WriteString(marks[part.Kind][0] + part.Text + marks[part.Kind][1])
	}
	return out.String()
}

func words(before, after []string) wordsResult {
	runs, coarse := align(before, after)
	result := wordsResult{Same: true, Coarse: coarse}
	add := func(kind string, tokens []string) {
		if len(tokens) > 0 {
			result.Parts = append(result.Parts, part{kind, strings.Join(tokens, "")})
		}
	}
	for _, run := range runs {
		if run.equal {
			add("same", before[run.a:run.aEnd])
			continue
		}
		result.Same = false
		add("removed", before[run.a:run.aEnd])
		add("added", after[run.b:run.bEnd])
	}
	return result
}

// tokens are the words of a text, the spaces between them, and everything else sign by sign. It stops once there are
// more than a text may have.
func tokens(text string) []string {
	var all []string
	for text != "" && len(all) <= mostParts {
		first, end := utf8.DecodeRuneInString(text)
		for kind := class(first); kind != sign && end < len(text); {
			next, size := utf8.DecodeRuneInString(text[end:])
			if class(next) != kind {
				break
			}
			end += size
		}
		all, text = append(all, text[:end]), text[end:]
	}
	return all
}

const (
	sign = iota
	word
	space
)

func class(r rune) int {
	switch {
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r), r == '_':
		return word
	case unicode.IsSpace(r):
		return space
	}
	return sign
}
