import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Output } from '../../lib/cli/output.ts'
import { warningsTo } from '../../lib/cli/output.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Instance } from '../../lib/instances/instance.ts'
import { liveInstances } from '../../lib/instances/live-instances.ts'
import { namesId } from '../../lib/instances/select-instance.ts'
import { checkName, chooseTarget, type Target } from '../../lib/mcp/settings/choose-target.ts'
import type { Client, Place, Scope, Settings } from '../../lib/mcp/settings/client.ts'
import { selectRegistryDir } from '../../lib/util/registry-path.ts'
import { asksForKey } from './asks-for-key.ts'
import { registryWords } from './registry-words.ts'
import { warningsOf } from './warnings.ts'

/** The flags as the parser returns them. */
export interface McpConfigFlags {
  url?: string | undefined
  instance?: string | undefined
  name?: string | undefined
  scope: Scope
  stdio: boolean
  write: boolean
  force: boolean
  auth?: 'none' | 'api-key' | undefined
  'api-key-file'?: string | undefined
  'registry-dir'?: string | undefined
  json: boolean
  quiet: boolean
}

/** What the entry of the client says. Throws `usage_invalid` for flags that do not fit together. */
export async function readSettings(
  client: Client,
  flags: McpConfigFlags,
  env: Place['env'],
  output: Output,
): Promise<Settings> {
  const name = flags.name === undefined ? null : checkName(flags.name)
  const keyFile = flags['api-key-file']
  const isBridged = flags.stdio || client.stdioOnly === true
  if (keyFile !== undefined && !isBridged) {
    throw new ServiceError('usage_invalid', '--api-key-file is for --stdio', {
      hint: 'over HTTP the client itself holds the key, in SERVICE_MCP_API_KEY',
    })
  }
  const registryDir = selectRegistryDir(flags['registry-dir'], env)
  const log = warningsTo(output)
  const also = (instance: Instance): boolean => namesId(instance, flags.instance)
  const live = await liveInstances({ registryDir, log, nowMs: Date.now(), also })
  const target = chooseTarget(flags, live)
  const { url } = target
  const joinsOrServes = client.stdioOnly === true && (target.assumed || target.word !== url)
  if (target.assumed) {
    output.note(
      joinsOrServes
        ? 'no server is running: the entry joins a server started later, or starts one'
        : `no server is running: the entry uses the default address ${url}`,
    )
  }
  const keyed = flags.auth === undefined ? await isKeyed(url, env) : flags.auth === 'api-key'
  const bridge = isBridged
    ? [
        ...thisProgram(),
        ...(joinsOrServes ? serveWords(target) : connectWords(target)),
        // An address is not looked for there.
        ...(target.word === url && !joinsOrServes ? [] : registryWords(registryDir, env)),
        ...(keyFile === undefined ? [] : ['--api-key-file', resolve(keyFile)]),
      ]
    : null
  for (const text of warningsOf({ url, keyed, bridge })) output.warn(text)
  return { name: name ?? target.name, url, keyed: keyed && keyFile === undefined, bridge }
}

function connectWords({ word }: Target): string[] {
  return ['connect', ...(word === null ? [] : [word])]
}

/** For a client that shows an error when nothing runs: it gets a server in any case. */
function serveWords({ word, assumed }: Target): string[] {
  return ['serve', '--stdio', ...(word === null || assumed ? [] : ['--dcc-type', word])]
}

/** A server that does not answer is taken for one that asks for the key there is. */
async function isKeyed(url: string, env: Place['env']): Promise<boolean> {
  return (await asksForKey(url)) ?? Boolean(env.SERVICE_MCP_API_KEY)
}

/** Desktop programs are started with hardly a PATH, so both are named by their place. */
function thisProgram(): string[] {
  return [process.execPath, fileURLToPath(new URL('../../../bin/run.js', import.meta.url))]
}
