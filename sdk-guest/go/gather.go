package plugport

import (
	"encoding/json"
	"reflect"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// Gather holds questions to be asked together, each under a name of its own. Asked one after the other, three questions
// cost a client of the stateless protocol three retries of the whole request.
type Gather struct {
	questions []question
	err       error
}

type question struct {
	key, method, params string
}

type outcome struct {
	answer string
	err    error
}

func (g *Gather) add(key, method, params string, err error) *Gather {
	if err != nil && g.err == nil {
		g.err = err
	}
	g.questions = append(g.questions, question{key, method, params})
	return g
}

// Sample asks the model, as [Call.Sample] does.
func (g *Gather) Sample(key string, sample Sample) *Gather {
	text, err := sampleParams(sample)
	return g.add(key, methodSample, text, err)
}

// ElicitForm shows a form, as [Call.ElicitForm] does.
func (g *Gather) ElicitForm(key, message string, schema json.RawMessage) *Gather {
	text, err := params(asForm(message, schema))
	return g.add(key, methodElicit, text, err)
}

// ElicitURL sends the person to a web page, as [Call.ElicitURL] does.
func (g *Gather) ElicitURL(key, message, url string) *Gather {
	text, err := params(asPage(message, url))
	return g.add(key, methodElicit, text, err)
}

// Roots asks for the user's folders, as [Call.Roots] does.
func (g *Gather) Roots(key string) *Gather {
	return g.add(key, methodRoots, "{}", nil)
}

// GatherForm adds a form with the fields of the struct T, as [Elicit] shows it.
func GatherForm[T any](g *Gather, key, message string) *Gather {
	form, err := schema.Form(reflect.TypeFor[T]())
	if err != nil {
		return g.add(key, methodElicit, "", Errorf(Internal, "%s", err))
	}
	return g.ElicitForm(key, message, form)
}

// Gathered holds the answers, each under the name of its question. Each has its own outcome, so that one refusal does not
// spoil the others.
type Gathered struct {
	answers map[string]outcome
}

// Gather asks several questions at once.
func (c *Call) Gather(gather *Gather) (*Gathered, error) {
	if gather.err != nil {
		return nil, gather.err
	}
	if c.script == nil {
		answers, err := hostGather(c.host, gather.questions)
		return &Gathered{answers}, err
	}
	answers := map[string]outcome{}
	for _, asked := range gather.questions {
		answer, err := c.script.Answer(asked.key, asked.method, asked.params)
		answers[asked.key] = outcome{answer, err}
	}
	return &Gathered{answers}, nil
}

// Sampled is what the model said.
func (g *Gathered) Sampled(key string) (*Sampled, error) {
	answer, err := g.answer(key)
	if err != nil {
		return nil, err
	}
	return readSampled(answer)
}

// Roots are the user's folders.
func (g *Gathered) Roots(key string) ([]Root, error) {
	answer, err := g.answer(key)
	if err != nil {
		return nil, err
	}
	return readRoots(answer)
}

// GatheredForm is what the person answered.
func GatheredForm[T any](g *Gathered, key string) (elicited Elicited[T], err error) {
	answer, err := g.answer(key)
	if err == nil {
		err = readForm(answer, &elicited.Action, &elicited.Value)
	}
	return elicited, err
}

func (g *Gathered) answer(key string) (string, error) {
	outcome, asked := g.answers[key]
	if !asked {
		return "", Errorf(Internal, "no question was called `%s`; ask for one that was gathered", key)
	}
	return outcome.answer, outcome.err
}
