import type { JsonObject } from '../../src/lib/util/json.ts'
import type { ExtraMethod, ExtraMethods } from '../../src/server/mcp/stateless/extra-methods.ts'
import { ResourceUriInvalid } from '../../src/server/resources/errors.ts'

const inputSchema = { type: 'object' }
const hint = { ttlMs: 0, cacheScope: 'private' }

const tools = [
  { name: 'test_streaming_elicitation', description: 'Answers at once', inputSchema },
  { name: 'test_logging_tool', description: 'Logs nothing unless it is asked to', inputSchema },
  { name: 'test_missing_capability', description: 'Needs a client that samples', inputSchema },
]
const prompts = [{ name: 'test_prompt', description: 'Stands in the list' }]

const callTool: ExtraMethod = {
  run({ name }) {
    if (!tools.some(tool => tool.name === name)) throw new ResourceUriInvalid('no such tool')
    return { content: [{ type: 'text', text: 'done' }] }
  },
  requires: ({ name }): JsonObject => (name === 'test_missing_capability' ? { sampling: {} } : {}),
}

/** Tools and a prompt that do nothing: several scenarios look at the transport through them. */
export const stub: ExtraMethods = {
  capabilities: { tools: {}, prompts: {} },
  methods: new Map<string, ExtraMethod>([
    ['tools/list', { run: () => ({ tools, ...hint }) }],
    ['tools/call', callTool],
    ['prompts/list', { run: () => ({ prompts, ...hint }) }],
  ]),
}
