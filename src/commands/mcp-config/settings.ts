import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Output, warningsTo } from '../../lib/cli/output.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Instance } from '../../lib/instances/instance.ts'
import { liveInstances } from '../../lib/instances/live-instances.ts'
import { namesId, selectInstance } from '../../lib/instances/select-instance.ts'
import { checkName, chooseTarget, type Target } from '../../lib/mcp/settings/choose-target.ts'
import type { Client, Place, Scope, Settings } from '../../lib/mcp/settings/client.ts'
import { selectStateDirectory } from '../../lib/config/paths.ts'
import { userAgent } from '../../lib/util/version.ts'
import { isLoopback } from '../../lib/util/net.ts'
import { findGateway, gatewayWord, rootsOnly } from '../running-gateway.ts'
import { refuseSilent } from '../stdio/choose-instance.ts'

/** The flags as the parser returns them. */
export interface McpConfigFlags {
  url?: string
  instance?: string
  gateway?: boolean
  name?: string
  scope: Scope
  stdio: boolean
  write: boolean
  force: boolean
  auth?: 'none' | 'api-key'
  'api-key-file'?: string
  'registry-dir'?: string
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
  const registryDir = selectStateDirectory(flags['registry-dir'], env)
  const target = flags.gateway
    ? await gatewayTarget(registryDir, output)
    : await instanceTarget(registryDir, flags, output)
  const { url } = target
  const isInstance = !flags.gateway && target.word !== url
  const joinsOrServes = client.stdioOnly === true && (target.assumed || isInstance)
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

/** Every instance at one address. */
async function gatewayTarget(registryDir: string, output: Output): Promise<Target> {
  const { url, aggregate } = await findGateway(registryDir)
  if (!aggregate) output.warn(rootsOnly)
  return { url, name: 'service-gateway', word: gatewayWord, assumed: false }
}

async function instanceTarget(
  registryDir: string,
  flags: McpConfigFlags,
  output: Output,
): Promise<Target> {
  const log = warningsTo(output)
  const also = (instance: Instance): boolean => namesId(instance, flags.instance)
  const parts = { registryDir, log, nowMs: Date.now(), also }
  const live = await liveInstances(parts)
  if (flags.url === undefined && selectInstance(live, flags.instance).kind === 'none') {
    await refuseSilent(parts, flags.instance)
  }
  return chooseTarget(flags, live)
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

/** How long a server on this machine may take to say so. */
const timeoutMs = 2000

/** Returns whether the endpoint refuses requests without a key; null when it does not answer. */
async function asksForKey(url: string): Promise<boolean | null> {
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(url, {
      redirect: 'manual',
      signal,
      headers: { 'user-agent': userAgent },
    })
    await answer.body?.cancel()
    return answer.status === 401
  } catch {
    return null
  }
}

/** What the folder for temporary files, and so the default one, goes by. */
const variables = ['TMPDIR', 'TMP', 'TEMP']

/**
 * Where `service-cli connect` looks for instances, said wherever it could look elsewhere: clients
 * pass on hardly a variable, and macOS sets TMPDIR for every account.
 */
export function registryWords(registryDir: string, env: Place['env']): string[] {
  const isDefault = registryDir === selectStateDirectory(undefined, {})
  const isMoved = variables.some(name => Boolean(env[name]))
  return isDefault && !isMoved ? [] : ['--registry-dir', registryDir]
}

/** What will not last or is not safe about an entry that is otherwise right. */
export function warningsOf({
  url,
  keyed,
  bridge,
}: Pick<Settings, 'url' | 'keyed' | 'bridge'>): string[] {
  const { protocol, hostname, host } = new URL(url)
  const warnings: string[] = []
  if (keyed && protocol === 'http:' && !isLoopback(hostname)) {
    const open = `the key goes unencrypted to ${host}: use https where you can`
    const how = 'service-cli connect sends it only with --allow-http among its arguments'
    warnings.push(bridge === null ? open : `${open}; ${how}`)
  }
  if (bridge?.some(word => /[/\\]_npx[/\\]/.test(word))) {
    warnings.push(
      'the entry starts service-cli from the cache of npx, which may be emptied any time: ' +
        'install the packed file with npm install --global, then run this command without npx',
    )
  }
  return warnings
}
