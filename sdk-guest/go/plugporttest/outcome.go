package plugporttest

import (
	"encoding/json"
	"strings"

	"github.com/plugport/plugport/sdk-guest/go"
)

// Outcome is what came of calling a tool: the result, or the error by which the call was rejected.
type Outcome struct {
	Result plugport.ToolResult
	Err    error
}

// IsError tells whether the tool failed or the call was rejected.
func (o *Outcome) IsError() bool { return o.Err != nil || o.Result.IsError }

// Text is the text of the result, its pieces on lines of their own; the error's message when there is no result.
func (o *Outcome) Text() string {
	if o.Err != nil {
		return o.Err.Error()
	}
	var texts []string
	for _, content := range o.Result.Content {
		if text, is := content.AsText(); is {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// Structured reads the structured content into a value.
func (o *Outcome) Structured(into any) error {
	if o.Err != nil {
		return o.Err
	}
	text, err := json.Marshal(o.Result.Structured)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
