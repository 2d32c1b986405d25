import { z } from 'zod'
import { onAbort } from '../../../lib/util/abort.ts'
import { arrayOf, type JsonObject } from '../../../lib/util/json.ts'
import type { RelayedContents } from '../../resources/producer.ts'
import { parseInstanceUri } from '../../resources/resource-uri.ts'
import {
  type Caller,
  failedResult,
  textResult,
  type Tool,
  type ToolResult,
} from '../../mcp/tools/tool.ts'
import { gatewayTools, relayedTools } from '../../mcp/tools/tools.ts'
import { sinceArguments, stopping } from '../../mcp/tools/wait-for-change.ts'
import { writtenUri } from '../../mcp/tools/written-uri.ts'
import type { Instances } from './instances.ts'

/** A gateway has no tool for it. */
const answeredThere = 'Notes are answered at the instance itself, not through the gateway.'

const naming =
  'its id or the first digits of it, the kind of application, or the name of its document'

/** The argument of a tool that only instances have. */
const instance = z
  .string()
  .describe(`which instance: ${naming}; absent: the only one that runs`)
  .optional()

/** The argument of a tool that the gateway also has. */
const otherInstance = z
  .string()
  .describe(`the instance to ask instead of the gateway: ${naming}; URIs are then as it calls them`)
  .optional()

/**
 * The tools of a gateway that passes resources of instances on: its own, and those that read an
 * application. The instance that is meant answers the call, which is passed on as it is.
 */
export function instanceTools(instances: Instances): readonly Tool[] {
  /** A tool of the gateway that an instance answers when one is named. */
  function withInstance(tool: Tool): Tool {
    const isWait = tool.name === 'wait_for_change'
    const more = { instance: otherInstance, ...(isWait && sinceArguments) }
    return {
      ...tool,
      input: tool.input.extend(more),
      relay(args, caller, isData, { stopped }) {
        const id = namedInstance(args, instances, caller)
        if (id !== null) {
          const answer = instances.callTool(id, tool.name, args, caller, isData)
          return isWait ? untilStop(stopped, answer) : answer
        }
        if (args.since == null) return null
        const message = 'since is a revision of one instance: name that alone'
        return Promise.resolve(failedResult('argument_invalid', message))
      },
    }
  }

  function ofApplication(tool: Tool): Tool {
    const { name, description } = tool
    return {
      ...tool,
      description: name === 'list_notes' ? `${description} ${answeredThere}` : description,
      input: tool.input.extend({ instance }),
      relay(args, caller, isData) {
        const word = args.instance == null ? undefined : String(args.instance)
        const { instance_id: instanceId } = instances.known.choose(word).record
        return instances.callTool(instanceId, name, args, caller, isData)
      },
      call: () => failedResult('argument_invalid', 'no instance is named'),
    }
  }

  return [...gatewayTools.map(withInstance), ...relayedTools.map(ofApplication)]
}

/**
 * The id of the one instance that the arguments name: as `instance`, by an address, or by an object,
 * which only an instance knows. Null: the gateway answers. Throws for one that callers may not read.
 */
function namedInstance(args: JsonObject, instances: Instances, caller: Caller): string | null {
  const words = [args.uri, ...arrayOf(args.uris)].filter(word => typeof word === 'string')
  const ids = words.map(word => {
    const uri = writtenUri(word)
    if (uri !== null && parseInstanceUri(uri) !== null) return instances.find(uri, caller)
    if (uri !== null || args.instance != null) return null
    return instances.known.choose(undefined).record.instance_id
  })
  if (args.instance != null) return instances.known.choose(String(args.instance)).record.instance_id
  const [id = null, ...others] = new Set(ids)
  return others.length === 0 ? id : null
}

/** The answer of the instance, or that the gateway stops. */
function untilStop(
  stopped: AbortSignal,
  answer: Promise<RelayedContents>,
): Promise<RelayedContents | ToolResult> {
  const { promise, resolve } = Promise.withResolvers<ToolResult>()
  const reason = stopping
  const release = onAbort(stopped, () =>
    resolve(textResult(`no change: ${reason}`, { changed: false, reason })),
  )
  return Promise.race([answer, promise]).finally(release)
}
