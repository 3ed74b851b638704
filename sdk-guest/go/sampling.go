package plugport

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// Sample is a question to the client's model. The client decides which model answers, and may show the question to its user
// first. Of the fields only Messages must be there; see [Ask] for the shortest way to have one.
type Sample struct {
	Messages         []Message         `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitempty"`
	// SystemPrompt tells the model how to behave.
	SystemPrompt string   `json:"systemPrompt,omitempty"`
	Temperature  *float64 `json:"temperature,omitempty"`
	// MaxTokens is how long the answer may be: 1000 unless you say otherwise.
	MaxTokens int `json:"maxTokens"`
	// StopSequences are texts at which the model stops.
	StopSequences []string       `json:"stopSequences,omitempty"`
	Metadata      map[string]any `json:"metadata,omitempty"`
	// Tools are for the model to ask for. Whoever asked the model calls them. Not every client allows it.
	Tools      []SampleTool `json:"tools,omitempty"`
	ToolChoice *ToolChoice  `json:"toolChoice,omitempty"`
}

// ModelPreferences says what matters in a model, from 0 to 1. Hints are names of models or parts of them.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitempty"`
	CostPriority         float64     `json:"costPriority,omitempty"`
	SpeedPriority        float64     `json:"speedPriority,omitempty"`
	IntelligencePriority float64     `json:"intelligencePriority,omitempty"`
}

// ModelHint is a name of a model or a part of it, such as claude. Earlier hints count more.
type ModelHint struct {
	Name string `json:"name"`
}

// SampleTool is a tool that the model may ask for.
type SampleTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// ToolChoice says whether the model calls tools: auto, required or none.
type ToolChoice struct {
	Mode string `json:"mode"`
}

// SampleToolOf describes a tool that takes the struct A.
func SampleToolOf[A any](name, description string) (SampleTool, error) {
	input, err := schema.Input(reflect.TypeFor[A]())
	if err != nil {
		return SampleTool{}, Errorf(Internal, "%s", err)
	}
	return SampleTool{Name: name, Description: description, InputSchema: json.RawMessage(input)}, nil
}

// Ask is a question of one text from the user.
func Ask(question string) Sample {
	return Sample{Messages: []Message{UserSays(TextBlock(question))}}
}

// Sample asks the client's model. It fails with MissingCapability when the client has no model to ask, with Denied when the
// plugin may not ask, with OverBudget when it asked too much, with Rejected when a person said no.
func (c *Call) Sample(sample Sample) (*Sampled, error) {
	text, err := sampleParams(sample)
	if err != nil {
		return nil, err
	}
	var answer string
	if c.script != nil {
		answer, err = c.script.Answer(c.key, methodSample, text)
	} else {
		answer, err = hostSample(c.host, c.key, text)
	}
	if err != nil {
		return nil, err
	}
	return readSampled(answer)
}

func sampleParams(sample Sample) (string, error) {
	if sample.MaxTokens == 0 {
		sample.MaxTokens = 1000
	}
	if sample.Messages == nil {
		sample.Messages = []Message{}
	}
	return params(sample)
}

func readSampled(answer string) (*Sampled, error) {
	sampled := new(Sampled)
	if err := read(answer, sampled); err != nil {
		return nil, err
	}
	return sampled, nil
}

// Sampled is what the model said.
type Sampled struct {
	Role    Role   `json:"role"`
	Content Blocks `json:"content"`
	// Model is the model's name.
	Model string `json:"model"`
	// StopReason tells why it stopped: endTurn, maxTokens, stopSequence, toolUse, or what its provider calls it.
	StopReason string `json:"stopReason"`
}

// Text is the text of it, its pieces on lines of their own.
func (s *Sampled) Text() string {
	var texts []string
	for _, block := range s.Content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// ToolUses are the tools that the model wants to have called, with [ToolResultBlock] as the answer.
func (s *Sampled) ToolUses() []Block {
	var uses []Block
	for _, block := range s.Content {
		if block.Type == "tool_use" {
			uses = append(uses, block)
		}
	}
	return uses
}

// Message is the answer as a message, for a next [Sample].
func (s *Sampled) Message() Message {
	return Message{Role: s.Role, Content: s.Content}
}
