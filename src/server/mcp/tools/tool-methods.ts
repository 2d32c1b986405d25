import { z } from 'zod'
import { dataKey } from '../../../lib/mcp/call-meta.ts'
import { isPrivate, publicMessage, ServiceError } from '../../../lib/util/errors.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { ResourceUriInvalid } from '../../resources/errors.ts'
import type { RelayedContents } from '../../resources/producer.ts'
import { JsonText, listParts, relayedText } from '../json-text.ts'
import { type Caller, failedResult, type Tool, type ToolParts, type ToolResult } from './tool.ts'

export type ToolMethods = ReturnType<typeof createToolMethods>

/**
 * `tools/list` and `tools/call`, the same in both transports. The tools come in their constant order;
 * those that write only for callers who may answer notes. An unknown tool is a protocol error; all
 * else that fails is a result with `isError`, because only results reach the model. An argument
 * `instance` that names this server is accepted by every tool.
 */
export function createToolMethods(tools: readonly Tool[], parts: ToolParts, log: Logger) {
  const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint !== false)
  const listed = JsonText.membersOf({ tools: tools.map(entryOf) })
  const listedForReaders = JsonText.membersOf({ tools: reading.map(entryOf) })

  async function resultOf(
    { name, input, call, relay }: Tool,
    given: JsonObject,
    caller: Caller,
    wantsData: boolean,
  ): Promise<ToolResult | RelayedContents> {
    try {
      const relayed = relay?.(given, caller, wantsData, parts) ?? null
      return await (relayed ?? call(checkedArguments(given, input), caller, parts))
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'internal') {
        log.error({ err: error, tool: name }, 'a tool failed')
        return failedResult('internal', 'the tool failed; see the log of the server')
      }
      const { code, message, hint } = error
      if (!isPrivate(error))
        return failedResult(code, hint === undefined ? message : `${message}; ${hint}`)
      log.warn({ reason: message, tool: name }, 'a tool failed')
      return failedResult(code, publicMessage(error))
    }
  }

  return {
    count: tools.length,
    /** Whether a call of some of them opens an MCP App. */
    openApps: tools.some(({ meta }) => meta?.ui !== undefined),
    list({ cursor }: JsonObject, { mayAnswer }: Caller): JsonText {
      // All tools fit one page, so no cursor was ever handed out for them.
      if (cursor !== undefined) throw new ResourceUriInvalid('unknown cursor')
      return mayAnswer ? listed : listedForReaders
    },
    // Not async: a call that waits would keep its params, which may be large.
    call({ name, arguments: given, _meta: meta }: JsonObject, caller: Caller): Promise<JsonText> {
      const tool = tools.find(each => each.name === name)
      if (tool === undefined) {
        const names = (caller.mayAnswer ? tools : reading).map(each => each.name)
        throw new ServiceError('tool_call_invalid', `unknown tool; known: ${names.join(', ')}`)
      }
      if (!caller.mayAnswer && !reading.includes(tool)) {
        throw new ServiceError('scope_insufficient', 'this caller may not answer notes')
      }
      if (given != null && !isJsonObject(given)) {
        throw new ServiceError('tool_call_invalid', '"arguments" must be an object')
      }
      const { instance, ...others } = given ?? {}
      const isOwn = typeof instance === 'string' && parts.registry.isNamed(instance)
      const args = isOwn ? others : (given ?? {})
      const wantsData = isJsonObject(meta) && meta[dataKey] === true
      return resultOf(tool, args, caller, wantsData).then(result =>
        typeof result === 'object' && 'content' in result
          ? serialised(result, wantsData)
          : relayedText(result, caller.isBatched === true),
      )
    },
  }
}

const readOnly = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }

/** Also for clients that load a tool only when a search finds it: Claude Code reads these members. */
function entryOf({ name, title, description, searchHint, meta, ...tool }: Tool): JsonObject {
  return {
    name,
    title,
    description,
    inputSchema: inputSchema(tool.input),
    annotations: { ...readOnly, ...tool.annotations },
    _meta: { 'anthropic/searchHint': searchHint, ...meta },
  }
}

/** As JSON Schema, without the bound that every whole number of JavaScript has. */
function inputSchema(input: z.ZodObject): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return schema
}

/** The arguments with their defaults. Throws `argument_invalid` with a sentence for the model. */
function checkedArguments(given: JsonObject, input: z.ZodObject): JsonObject {
  // Models write null for an argument that they leave out.
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const parsed = input.safeParse(args)
  if (parsed.success) return parsed.data
  const known = Object.keys(input.shape)
  const unknown = Object.keys(args).find(name => !known.includes(name))
  const { path = [], message = '' } = parsed.error.issues[0] ?? {}
  const name = String(path[0])
  let wrong = `argument "${name}" is missing`
  if (unknown !== undefined) {
    const shown = JSON.stringify(unknown.slice(0, 60))
    wrong = `unknown argument ${shown}; known: ${known.join(', ')}`
  } else if (Object.hasOwn(args, name)) {
    wrong = `argument "${path.join('.')}": ${message}`
  }
  throw new ServiceError('argument_invalid', wrong)
}

/** Models get everything as content: several clients drop it where there is data beside it. */
function serialised({ content, data, isError }: ToolResult, wantsData: boolean): JsonText {
  const firstText = content.find(({ type }) => type === 'text')
  const items = content.map(item => {
    if (item.type === 'image') return item
    const { _meta, ...shown } = item
    // Copilot CLI joins the texts of an answer with nothing between them.
    const text = item === firstText ? shown.text : shown.text.replace(/^\n?/, '\n')
    return { ...shown, text, ...(wantsData && { _meta }) }
  })
  let tail = ']'
  if (wantsData && data !== undefined) tail += `,"structuredContent":${JSON.stringify(data)}`
  if (isError) tail += ',"isError":true'
  const parts = listParts('"content":[', items, 'data', tail)
  return new JsonText(parts, { isFailure: isError === true })
}
