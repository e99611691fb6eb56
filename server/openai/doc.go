// Package openai is the shape of OpenAI's API: it reads requests strictly, turns them into conversations and options of
// the runtime, and writes answers. It knows no HTTP, no session and no picture format: pictures leave here as bytes.
//
// Every field of a request is honoured, ignored or refused: the tables in chat.go, completion.go and message.go say
// which. null means unset everywhere; a name that no table knows is refused with unknown_parameter.
//
// # Order of messages
//
// Clients send messages in orders that the chat format has no place for. Merge makes them fit, always in the same way,
// and says so in the notes:
//
//   - developer is system, function is tool.
//   - System messages before the first other message become one, joined by blank lines. Later ones stay where they are.
//   - A tool result goes directly behind the nearest earlier assistant message that made its call: by tool_call_id,
//     else by name among calls without an answer.
//   - A call that nothing answers gets an empty result.
//   - A result that answers no call stays where it is, as a result in a turn of the model's own. It may hold no image.
//   - Arguments of an earlier call that are no JSON object are kept as text under the key "unparsed".
//   - Neighbouring messages of one role stay apart, as in the model's own template.
//
// Start reading at DecodeChat and Merge.
package openai
