import { z } from 'zod'
import { type Caller, textResult, type Tool } from '../../src/server/mcp/tools/tool.ts'
import { greyPng } from '../helpers/pictures.ts'

/** The tools that the suite calls by name, as tools of the server are made. */
export const suiteTools: readonly Tool[] = [
  tool('test_simple_text', () => textResult('This is a simple text response for testing.')),
  tool('test_image_content', () => ({
    content: [{ type: 'image', mimeType: 'image/png', data: greyPng(1, 1, 0) }],
  })),
  tool('test_error_handling', () => {
    const text = 'This tool intentionally returns an error for testing'
    return { content: [{ type: 'text', text }], isError: true }
  }),
  tool('test_tool_with_progress', ({ progress }) => {
    for (const done of [0, 50, 100]) progress?.report(done, 100, `${done} of 100`)
    return textResult('done')
  }),
  // No tool of the server asks its caller for anything or sends log messages.
  tool('test_streaming_elicitation', () => textResult('done')),
  tool('test_logging_tool', () => textResult('done')),
]

function tool(name: string, call: (caller: Caller) => ReturnType<Tool['call']>): Tool {
  const description = 'A tool of the suite'
  const definition = { name, title: name, description, searchHint: name, input: z.strictObject({}) }
  return { ...definition, call: (_args, caller) => call(caller) }
}
