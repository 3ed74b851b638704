package plugport

import (
	"encoding/json"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// The bridges to the host are functions and not methods of one interface: an interface with all of them would make every
// plugin import every question, whether it asks or not. What nobody asks the linker drops, and the operator sees what a
// plugin would really need.

const (
	methodSample = "sampling/createMessage"
	methodElicit = "elicitation/create"
	methodRoots  = "roots/list"
)

// read reads a client's answer.
func read(answer string, into any) error {
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		return Errorf(Internal, "the client's answer cannot be read: %s", err)
	}
	return nil
}

// params writes a question.
func params(of any) (string, error) {
	text, err := schema.Marshal(of)
	if err != nil {
		return "", Errorf(Internal, "the question cannot be written as JSON: %s", err)
	}
	return string(text), nil
}
