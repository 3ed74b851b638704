// diff tells models what differs between two texts, which they are bad at seeing. Whatever it is given it answers soon:
// the search for the shortest difference has a budget, and what lies beyond is shown as replaced and said to be coarse.
package main

import (
	"errors"
	"strings"

	"github.com/plugport/plugport/sdk-guest/go"
)

// The bounds are what a call can do with the fuel and the memory that a plugin has unless its operator says otherwise,
// whatever the texts are. What they say is written twice as JSON, so texts count as long as they are there.
const (
	mostBytes = 1 << 18
	mostParts = 10_000
)

var (
	errTooLarge  = errors.New("the texts are too large; give at most 256 KiB, in which control characters count as 6 bytes, and 10,000 lines or words each, or compare them piece by piece")
	errJSONLarge = errors.New("the values are too large; give at most 256 KiB of JSON each and 16,000 values together, or compare them piece by piece")
	errJSONDeep  = errors.New("the values are nested too deep; give at most 500 levels, or compare what is inside")
	errNames     = errors.New("the names must be two, without line breaks; leave them out to have `before` and `after`")
)

type unifiedArgs struct {
	Before  string   `json:"before" desc:"The old text."`
	After   string   `json:"after" desc:"The new text."`
	Context int      `json:"context,omitempty" desc:"How many unchanged lines to show around each change." min:"0" max:"10000" default:"3"`
	Names   []string `json:"names,omitempty" desc:"What the two texts are called in the header, such as file names." min:"2" max:"2"`
}

type unifiedResult struct {
	Same    bool   `json:"same" desc:"Whether there is no difference."`
	Added   int    `json:"added" desc:"How many lines are new."`
	Removed int    `json:"removed" desc:"How many lines are gone."`
	Hunks   int    `json:"hunks" desc:"In how many places."`
	Diff    string `json:"diff" desc:"The difference in the unified format, which patch and git apply read."`
	Coarse  bool   `json:"coarse,omitempty" desc:"Whether the texts differ so much that a shorter difference may exist."`
}

// ToolText is the difference itself.
func (r unifiedResult) ToolText() string {
	if r.Same {
		return "The texts are the same."
	}
	return r.Diff
}

func unifiedTool(_ *plugport.Call, args unifiedArgs) (unifiedResult, error) {
	names := [2]string{"before", "after"}
	if args.Names != nil {
		if len(args.Names) != 2 || strings.ContainsAny(strings.Join(args.Names, ""), "\r\n") {
			return unifiedResult{}, errNames
		}
		names = [2]string(args.Names)
	}
	before, after, err := split(args.Before, args.After, lines)
	if err != nil {
		return unifiedResult{}, err
	}
	return unified(before, after, max(args.Context, 0), names), nil
}

type pairArgs struct {
	Before string `json:"before" desc:"The old text."`
	After  string `json:"after" desc:"The new text."`
}

func wordsTool(_ *plugport.Call, args pairArgs) (wordsResult, error) {
	before, after, err := split(args.Before, args.After, tokens)
	if err != nil {
		return wordsResult{}, err
	}
	return words(before, after), nil
}

type jsonArgs struct {
	Before string `json:"before" desc:"The old value: JSON as a text."`
	After  string `json:"after" desc:"The new value: JSON as a text."`
}

func jsonTool(_ *plugport.Call, args jsonArgs) (jsonResult, error) {
	if max(len(args.Before), len(args.After)) > mostBytes {
		return jsonResult{}, errJSONLarge
	}
	before, deepBefore := measure(args.Before)
	after, deepAfter := measure(args.After)
	if before+after > mostValues {
		return jsonResult{}, errJSONLarge
	}
	if max(deepBefore, deepAfter) > deepestJSON {
		return jsonResult{}, errJSONDeep
	}
	return compareJSON(args.Before, args.After)
}

// split takes both texts apart, unless they are too large for it.
func split(before, after string, parts func(string) []string) (a, b []string, err error) {
	if max(weight(before), weight(after)) > mostBytes {
		return nil, nil, errTooLarge
	}
	a, b = parts(before), parts(after)
	if max(len(a), len(b)) > mostParts {
		return nil, nil, errTooLarge
	}
	return a, b, nil
}

// weight is how many bytes a text has, with control characters as JSON writes them.
func weight(text string) int {
	weight := len(text)
	for i := range len(text) {
		if text[i] < ' ' && !strings.ContainsRune("\t\n\r", rune(text[i])) {
			weight += len("\\u0001") - 1
		}
	}
	return weight
}

func init() {
	plugport.Tool("unified", "Show which lines differ between two texts, as a unified diff.",
		unifiedTool, plugport.ReadOnly(), plugport.Idempotent())
	plugport.Tool("words", "Show which words differ between two texts, as [-removed-] and {+added+}.",
		wordsTool, plugport.ReadOnly(), plugport.Idempotent())
	plugport.Tool("json", "List what differs between two JSON values, whatever the order of their keys, as a JSON Patch (RFC 6902).",
		jsonTool, plugport.ReadOnly(), plugport.Idempotent())
}

func main() {}
