package plugport

import (
	"encoding/json"
	"reflect"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// Action is what a person did with a form or a page.
type Action string

// A person may always decline, so declining is a result and no error.
const (
	Accepted  Action = "accept"
	Declined  Action = "decline"
	Dismissed Action = "cancel"
)

// ElicitResult is the outcome of a form. Value is the form, when the person accepted.
type ElicitResult[T any] struct {
	Action Action
	Value  T
}

// Accepted is what they filled in, for those who cannot go on without it: an error of the kind Rejected when they
// declined or went away.
func (e ElicitResult[T]) Accepted() (T, error) {
	switch e.Action {
	case Accepted:
		return e.Value, nil
	case Declined:
		return e.Value, Errorf(Rejected, "the person declined to answer")
	}
	return e.Value, Errorf(Rejected, "the person closed the question")
}

// Elicit shows a form to the person at the client. The fields of the struct T are those of the form: texts, numbers,
// bools, lists of texts with an enum tag, and pointers to these.
func Elicit[T any](call *Call, message string) (ElicitResult[T], error) {
	form, err := schema.Form(reflect.TypeFor[T]())
	if err != nil {
		return ElicitResult[T]{}, Errorf(Internal, "%s", err)
	}
	return elicit[T](call, asForm(message, form))
}

// ElicitForm shows a form with a JSON Schema of your own, for forms that no Go type describes.
func (c *Call) ElicitForm(message string, schema json.RawMessage) (ElicitResult[map[string]any], error) {
	return elicit[map[string]any](c, asForm(message, schema))
}

// ElicitURL sends the person to a web page: to log in, to pay, to type what no client should see. That they accepted
// means that they went there, not that they are done.
func (c *Call) ElicitURL(message, url string) (Action, error) {
	answer, err := elicit[struct{}](c, asPage(message, url))
	return answer.Action, err
}

type formParams struct {
	Mode            string          `json:"mode"`
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
	URL             string          `json:"url,omitempty"`
}

func asForm(message string, schema json.RawMessage) formParams {
	return formParams{Mode: "form", Message: message, RequestedSchema: schema}
}

func asPage(message, url string) formParams {
	return formParams{Mode: "url", Message: message, URL: url}
}

func elicit[T any](call *Call, form formParams) (elicited ElicitResult[T], err error) {
	answer, err := sendForm(call, form)
	if err == nil {
		err = readForm(answer, &elicited.Action, &elicited.Value)
	}
	return elicited, err
}

func sendForm(call *Call, form formParams) (string, error) {
	text, err := params(form)
	if err != nil {
		return "", err
	}
	if call.testClient != nil {
		return call.testClient.Answer(call.key, methodElicit, text)
	}
	return hostElicit(call.host, call.key, text)
}

func readForm(answer string, action *Action, value any) error {
	var given struct {
		Action  Action          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if err := read(answer, &given); err != nil {
		return err
	}
	*action = given.Action
	if given.Action != Accepted || len(given.Content) == 0 {
		return nil
	}
	if err := readJSON(given.Content, value); err != nil {
		return Errorf(InvalidParams, "the client's answer does not fit the form: %s", reason(err))
	}
	return nil
}
