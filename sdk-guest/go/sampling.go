package plugport

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// CreateMessageRequest is a request to the client's model. The client decides which model answers, and may show the
// request to its user first. Of the fields only Messages must be there; see [TextRequest] for the shortest way to have
// one.
type CreateMessageRequest struct {
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
	Tools      []SamplingTool `json:"tools,omitempty"`
	ToolChoice *ToolChoice    `json:"toolChoice,omitempty"`
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

// SamplingTool is a tool that the model may ask for.
type SamplingTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// ToolChoice says whether the model calls tools: auto, required or none.
type ToolChoice struct {
	Mode string `json:"mode"`
}

// SamplingToolOf describes a tool that takes the struct A.
func SamplingToolOf[A any](name, description string) (SamplingTool, error) {
	input, err := schema.Input(reflect.TypeFor[A]())
	if err != nil {
		return SamplingTool{}, Errorf(Internal, "%s", err)
	}
	return SamplingTool{Name: name, Description: description, InputSchema: json.RawMessage(input)}, nil
}

// TextRequest is a request of one text from the user.
func TextRequest(text string) CreateMessageRequest {
	return CreateMessageRequest{Messages: []Message{UserSays(TextBlock(text))}}
}

// Sample asks the client's model. It fails with MissingCapability when the client has no model to ask, with Denied when
// the plugin may not ask, with OverBudget when it asked too much, with Rejected when a person said no.
func (c *Call) Sample(request CreateMessageRequest) (*CreateMessageResult, error) {
	text, err := sampleParams(request)
	if err != nil {
		return nil, err
	}
	var result string
	if c.testClient != nil {
		result, err = c.testClient.Answer(c.key, methodSample, text)
	} else {
		result, err = hostSample(c.host, c.key, text)
	}
	if err != nil {
		return nil, err
	}
	return readSampled(result)
}

func sampleParams(request CreateMessageRequest) (string, error) {
	if request.MaxTokens == 0 {
		request.MaxTokens = 1000
	}
	if request.Messages == nil {
		request.Messages = []Message{}
	}
	return params(request)
}

func readSampled(text string) (*CreateMessageResult, error) {
	result := new(CreateMessageResult)
	if err := read(text, result); err != nil {
		return nil, err
	}
	return result, nil
}

// CreateMessageResult is what the model said.
type CreateMessageResult struct {
	Role    Role   `json:"role"`
	Content Blocks `json:"content"`
	// Model is the model's name.
	Model string `json:"model"`
	// StopReason tells why it stopped: endTurn, maxTokens, stopSequence, toolUse, or what its provider calls it.
	StopReason string `json:"stopReason"`
}

// Text is the text of it, its pieces on lines of their own.
func (s *CreateMessageResult) Text() string {
	var texts []string
	for _, block := range s.Content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// ToolUses are the tool calls that the model requests; return their results with [ToolResultBlock].
func (s *CreateMessageResult) ToolUses() []Block {
	var uses []Block
	for _, block := range s.Content {
		if block.Type == "tool_use" {
			uses = append(uses, block)
		}
	}
	return uses
}

// Message is the result as a message of a further [CreateMessageRequest].
func (s *CreateMessageResult) Message() Message {
	return Message{Role: s.Role, Content: s.Content}
}
