package plugport

import (
	"encoding/json"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// The bridges to the host are functions and not methods of one interface: an interface with all of them would make
// every plugin import sampling, elicitation and roots, whether it uses them or not. The linker drops unused functions,
// and the operator sees which capabilities a plugin really uses.

const (
	methodSample = "sampling/createMessage"
	methodElicit = "elicitation/create"
	methodRoots  = "roots/list"
)

// read reads a client's result.
func read(result string, into any) error {
	if err := json.Unmarshal([]byte(result), into); err != nil {
		return Errorf(Internal, "the client's answer cannot be read: %s", err)
	}
	return nil
}

// params writes the params of a request.
func params(of any) (string, error) {
	text, err := schema.Marshal(of)
	if err != nil {
		return "", Errorf(Internal, "the request cannot be written as JSON: %s", err)
	}
	return string(text), nil
}
