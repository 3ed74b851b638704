package plugport

import (
	"encoding/json"
	"reflect"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// InputBatch holds requests to be sent together, each under a key of its own. Sent one after the other, three requests
// cost a client of the stateless protocol three retries of the whole request.
type InputBatch struct {
	requests []inputRequest
	err      error
}

type inputRequest struct {
	key, method, params string
}

type outcome struct {
	result string
	err    error
}

func (b *InputBatch) add(key, method, params string, err error) *InputBatch {
	if err != nil && b.err == nil {
		b.err = err
	}
	b.requests = append(b.requests, inputRequest{key, method, params})
	return b
}

// Sample asks the model, as [Call.Sample] does.
func (b *InputBatch) Sample(key string, request CreateMessageRequest) *InputBatch {
	text, err := sampleParams(request)
	return b.add(key, methodSample, text, err)
}

// ElicitForm shows a form, as [Call.ElicitForm] does.
func (b *InputBatch) ElicitForm(key, message string, schema json.RawMessage) *InputBatch {
	text, err := params(asForm(message, schema))
	return b.add(key, methodElicit, text, err)
}

// ElicitURL sends the person to a web page, as [Call.ElicitURL] does.
func (b *InputBatch) ElicitURL(key, message, url string) *InputBatch {
	text, err := params(asPage(message, url))
	return b.add(key, methodElicit, text, err)
}

// Roots asks for the user's folders, as [Call.Roots] does.
func (b *InputBatch) Roots(key string) *InputBatch {
	return b.add(key, methodRoots, "{}", nil)
}

// AddForm adds a form with the fields of the struct T, as [Elicit] shows it.
func AddForm[T any](batch *InputBatch, key, message string) *InputBatch {
	form, err := schema.Form(reflect.TypeFor[T]())
	if err != nil {
		return batch.add(key, methodElicit, "", Errorf(Internal, "%s", err))
	}
	return batch.ElicitForm(key, message, form)
}

// InputResults holds the results, each under the key of its request. Each request has its own outcome, so that one
// failure does not spoil the others.
type InputResults struct {
	outcomes map[string]outcome
}

// RequestInputs sends several requests at once.
func (c *Call) RequestInputs(batch *InputBatch) (*InputResults, error) {
	if batch.err != nil {
		return nil, batch.err
	}
	if c.testClient == nil {
		outcomes, err := hostRequestInputs(c.host, batch.requests)
		return &InputResults{outcomes}, err
	}
	outcomes := map[string]outcome{}
	for _, request := range batch.requests {
		result, err := c.testClient.Answer(request.key, request.method, request.params)
		outcomes[request.key] = outcome{result, err}
	}
	return &InputResults{outcomes}, nil
}

// Sampled is what the model said.
func (r *InputResults) Sampled(key string) (*CreateMessageResult, error) {
	result, err := r.result(key)
	if err != nil {
		return nil, err
	}
	return readSampled(result)
}

// Roots are the user's folders.
func (r *InputResults) Roots(key string) ([]Root, error) {
	result, err := r.result(key)
	if err != nil {
		return nil, err
	}
	return readRoots(result)
}

// FormResult is the outcome of a form of [AddForm].
func FormResult[T any](results *InputResults, key string) (elicited ElicitResult[T], err error) {
	result, err := results.result(key)
	if err == nil {
		err = readForm(result, &elicited.Action, &elicited.Value)
	}
	return elicited, err
}

func (r *InputResults) result(key string) (string, error) {
	outcome, found := r.outcomes[key]
	if !found {
		return "", Errorf(Internal, "no request has the key `%s`; use one of the batch", key)
	}
	return outcome.result, outcome.err
}
