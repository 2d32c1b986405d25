import { isLocal, publicMessage, ServiceError } from '../../../lib/util/errors.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { meantWords } from '../../../lib/util/text.ts'
import { chain, recovered } from '../../resources/maybe-promise.ts'
import { JsonText, type JsonPart } from '../json-text.ts'
import { blobPart } from '../resource-methods.ts'
import { checkArguments, failedResult, type Caller, type Tool, type ToolResult } from './tool.ts'

type Answer = JsonText | Promise<JsonText>

/** `tools/list` and `tools/call`, the same in both transports. */
export interface ToolMethods {
  readonly count: number
  list(caller: Pick<Caller, 'mayAnswer'>): JsonText
  call(params: JsonObject, caller: Caller): Answer
}

const annotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }

/**
 * The tools in their constant order; those that write only for callers who may answer notes. An
 * unknown tool is a protocol error; all else that fails is a result with `isError`, because only
 * results reach the model.
 */
export function createToolMethods(tools: readonly Tool[], log: Logger): ToolMethods {
  const byName = new Map(tools.map(tool => [tool.definition.name, tool]))
  const definitions = tools.map(({ definition, annotations: own }) => ({
    ...definition,
    annotations: { ...annotations, ...own },
  }))
  const listed = JsonText.membersOf({ tools: definitions })
  const reading = definitions.filter(({ annotations: { readOnlyHint } }) => readOnlyHint)
  const listedForReaders = JsonText.membersOf({ tools: reading })
  const results = new WeakMap<ToolResult, JsonText>()

  const serialise = (result: ToolResult) => {
    const known = results.get(result)
    if (known !== undefined) return known
    const text = new JsonText(resultParts(result), { isFailure: result.isError === true })
    // A tool that returns the same frozen result again says "unchanged".
    if (Object.isFrozen(result)) results.set(result, text)
    return text
  }
  const failed = (error: unknown, name: string) => {
    if (!(error instanceof ServiceError) || error.code === 'internal') {
      log.error({ err: error, tool: name }, 'a tool failed')
      return failedResult('internal', 'the tool failed; see the log of the server')
    }
    const { code, message } = error
    if (isLocal(error)) {
      log.warn({ reason: message, tool: name }, 'a tool failed')
      return failedResult(code, publicMessage(error))
    }
    const hint = error.hint === undefined ? '' : `; ${error.hint}`
    return failedResult(code, `${message}${hint}`)
  }

  return {
    count: tools.length,
    list: ({ mayAnswer }) => (mayAnswer ? listed : listedForReaders),
    call({ name, arguments: given = {} }, caller) {
      const tool = typeof name === 'string' ? byName.get(name) : undefined
      if (tool === undefined) {
        const known = caller.mayAnswer ? definitions : reading
        const names = known.map(definition => definition.name)
        const meant = typeof name === 'string' ? meantWords(name, names) : ''
        throw new ServiceError(
          'tool_call_invalid',
          `unknown tool${meant}; known: ${names.join(', ')}`,
        )
      }
      if (!isJsonObject(given)) {
        throw new ServiceError('tool_call_invalid', '"arguments" must be an object')
      }
      const args = checkArguments(given, tool.definition.inputSchema)
      if (!args.ok) return serialise(failedResult('argument_invalid', args.failure))
      const result = recovered(
        () => tool.call(args.value, caller),
        error => failed(error, tool.definition.name),
      )
      return chain(result, serialise)
    },
  }
}

function resultParts({ content, structuredContent, isError }: ToolResult): JsonPart[] {
  const parts: JsonPart[] = []
  let text = '"content":['
  content.forEach((item, index) => {
    if (index > 0) text += ','
    if (item.type === 'text') {
      text += JSON.stringify(item)
      return
    }
    const { data, ...rest } = item
    parts.push(`${text}${JSON.stringify(rest).slice(0, -1)},"data":"`, blobPart(data))
    text = '"}'
  })
  text += ']'
  if (structuredContent !== undefined) {
    text += `,"structuredContent":${JSON.stringify(structuredContent)}`
  }
  if (isError === true) text += ',"isError":true'
  parts.push(text)
  return parts
}
