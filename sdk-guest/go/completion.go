package plugport

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// mostValues is how many suggestions MCP allows.
const mostValues = 100

// Completion is the values for an argument. Total is the number of all values, or 0 if it is unknown.
type Completion struct {
	Values  []string
	Total   int
	HasMore bool
}

// CompletionContext has the other arguments, as far as they are known already.
type CompletionContext map[string]string

// Completer suggests completions of the text typed so far.
type Completer func(call *Call, value string, context CompletionContext) (Completion, error)

type completer struct {
	template         bool
	target, argument string
	complete         Completer
}

// CompletePrompt suggests values for an argument of a prompt.
func CompletePrompt(prompt, argument string, complete Completer) {
	registered.completers = append(registered.completers, completer{false, prompt, argument, complete})
}

// CompleteTemplate suggests values for a variable of a resource template.
func CompleteTemplate(template, variable string, complete Completer) {
	registered.completers = append(registered.completers, completer{true, template, variable, complete})
}

// completerProblems are those of completers that can never be asked. The arguments are named as listed, by target.
func completerProblems(template bool, arguments map[string][]string) []string {
	var found []string
	seen := map[[2]string]bool{}
	for _, it := range registered.completers {
		place := [2]string{it.target, it.argument}
		if it.template != template {
			continue
		}
		if seen[place] {
			found = append(found, fmt.Sprintf("`%s` of `%s` is completed twice; take one away", it.argument, it.target))
		}
		seen[place] = true
		if !slices.Contains(arguments[it.target], it.argument) {
			found = append(found, fmt.Sprintf("`%s` of `%s` is completed, but there is no such argument", it.argument, it.target))
		}
	}
	return found
}

// Suggest is a completion of these values.
func Suggest(values ...string) Completion { return Completion{Values: values} }

// complete has no suggestions for an argument without a completer, which is no error.
func complete(call *Call, template bool, target, argument, value string, context CompletionContext) (made Completion, err error) {
	defer guard(call, "completing `"+argument+"`", &err)
	for _, it := range registered.completers {
		if it.template != template || it.target != target || it.argument != argument {
			continue
		}
		made, err := it.complete(call, value, context)
		if err != nil {
			return Completion{}, toError(err)
		}
		if len(made.Values) > mostValues {
			made.Values, made.HasMore = made.Values[:mostValues], true
		}
		return made, nil
	}
	return Completion{}, nil
}

// Rank is the candidates that fit what was typed, the best ones first, without regard to upper and lower case: first
// what equals it, then what begins with it, then what has a word that begins with it, and at last what has its letters
// in this order. Candidates that fit equally well keep their order.
func Rank(value string, candidates ...string) Completion {
	type ranked struct {
		fit  int
		text string
	}
	var fitting []ranked
	for _, candidate := range candidates {
		if fit, fits := fit(strings.ToLower(value), strings.ToLower(candidate)); fits {
			fitting = append(fitting, ranked{fit, candidate})
		}
	}
	slices.SortStableFunc(fitting, func(a, b ranked) int { return a.fit - b.fit })
	made := Completion{Total: len(fitting)}
	for _, it := range fitting {
		made.Values = append(made.Values, it.text)
	}
	return made
}

// fit is how well a candidate fits; the less, the better.
func fit(wanted, candidate string) (int, bool) {
	switch {
	case wanted == candidate:
		return 0, true
	case strings.HasPrefix(candidate, wanted):
		return 1, true
	}
	words := strings.FieldsFunc(candidate, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, word := range words {
		if strings.HasPrefix(word, wanted) {
			return 2, true
		}
	}
	between, fits := scattered([]rune(wanted), []rune(candidate))
	return 3 + between, fits
}

// scattered is the number of other letters between the first and the last letter of the query.
func scattered(wanted, candidate []rune) (int, bool) {
	first, last, next := -1, -1, 0
	for at, letter := range candidate {
		if next < len(wanted) && letter == wanted[next] {
			if first < 0 {
				first = at
			}
			last, next = at, next+1
		}
	}
	return last - first + 1 - next, next == len(wanted) && next > 0
}
