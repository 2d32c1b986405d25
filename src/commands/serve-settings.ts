import { stat } from 'node:fs/promises'
import type { Interfaces } from '@oclif/core'
import { parseSecret } from '../lib/auth/secret-file.ts'
import { usage } from '../lib/util/errors.ts'
import type { ServeOptions } from '../server/host/serve-options.ts'
import { defaultPorts } from './default-ports.ts'
import { proxyFor } from '../lib/util/proxy.ts'
import { readGatewayUrl, readJoinToken } from './join-token.ts'
import { checkPath } from './path-flags.ts'
import { checkOrigin, type McpServerFlags, readMcpServerSettings } from './server-flags.ts'
import type Serve from './serve.ts'

/** The flags of `serve` as the parser returns them. */
export type ServeFlags = McpServerFlags & { 'dcc-type': string } & Partial<
    Interfaces.InferredFlags<typeof Serve.flags>
  >

export type ServeSettings = Omit<ServeOptions, 'log' | 'accessLog'>

const maxNameChars = 200

/**
 * Flags and environment as checked settings. Throws `usage_invalid` naming the flag, or
 * `config_invalid` when the key file cannot be used.
 */
export async function readServeSettings(
  flags: ServeFlags,
  env: NodeJS.ProcessEnv,
): Promise<ServeSettings> {
  const { SERVICE_HOST_TOKEN: hostToken } = env
  return {
    ...(await readMcpServerSettings(flags, env)),
    documentsDir: await readDocumentsDir(flags),
    sceneFile: checkPath('scene-file', flags['scene-file']),
    hostTokenFile: checkPath('host-token-file', flags['host-token-file']),
    appOrigins: flags['app-origin']?.map(value => checkOrigin('app-origin', value)),
    capture: readCapture(flags),
    gateway: readGateway(flags),
    join: await readJoin(flags, env),
    dccType: checkDccType(flags['dcc-type']),
    artefacts: await readArtefacts(flags),
    resources: flags['no-resources'] !== true,
    notes: flags['no-notes'] !== true,
    name: checkLine('name', flags.name),
    hostTokenEnv: hostToken ? parseSecret(hostToken, 'SERVICE_HOST_TOKEN') : undefined,
  }
}

/** It must be there: a share that is not mounted would otherwise be an empty folder of this disk. */
async function readDocumentsDir(flags: ServeFlags): Promise<string | undefined> {
  const path = checkPath('documents-dir', flags['documents-dir'])
  const found = path === undefined ? null : await stat(path).catch(() => null)
  if (path === undefined || found?.isDirectory()) return path
  throw usage(`--documents-dir ${path} is not a folder`, 'make it, or mount the share')
}

async function readArtefacts({
  artefacts,
  'no-artefacts': isOff,
}: ServeFlags): Promise<ServeOptions['artefacts']> {
  if (artefacts === undefined) return !isOff
  const { parseBucketUrl } = await import('../server/artefacts/bucket.ts')
  return parseBucketUrl(artefacts, '--artefacts')
}

function readGateway(flags: ServeFlags): ServeOptions['gateway'] {
  const { gateway, 'gateway-port': port = defaultPorts.gateway, aggregate = false } = flags
  if (gateway) return { port, aggregate }
  const [needless] = (['aggregate', 'gateway-port'] as const).filter(flag => flags[flag])
  if (needless !== undefined) throw usage(`--${needless} is for --gateway`, 'add --gateway')
  return undefined
}

/** The token is read once here, so that a start with an unusable one fails. */
async function readJoin(flags: ServeFlags, env: NodeJS.ProcessEnv): Promise<ServeOptions['join']> {
  const { join, 'visible-to': visibleTo = 'owner' } = flags
  const token = readJoinToken(flags, env)
  if (join === undefined) return undefined
  const gateways = [...new Set(join.map(readGatewayUrl))]
  for (const gateway of gateways) proxyFor(new URL(gateway), env)
  if (token === null) {
    throw usage(
      '--join needs a token',
      'make one with service-cli token create --scope instance, and name its file with --join-token-file',
    )
  }
  await token()
  return { gateways, token, visibleTo }
}

function readCapture(flags: ServeFlags): ServeOptions['capture'] {
  const { capture: mode = 'off', 'capture-title': title } = flags
  if (title !== undefined && (mode === 'off' || mode === 'host')) {
    const hint = 'it names a window for --capture auto or native'
    throw usage(`--capture-title is not for --capture ${mode}`, hint)
  }
  return mode === 'off' ? undefined : { mode, title: checkLine('capture-title', title) }
}

function checkDccType(value: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(value)) return value
  throw usage(`--dcc-type ${value} must be lower-case letters, digits, - and _`, 'as in blender')
}

function checkLine(flag: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (value !== '' && value.length <= maxNameChars && !/[\x00-\x1f\x7f-\x9f]/.test(value)) {
    return value
  }
  throw usage(`--${flag} must be 1 to ${maxNameChars} characters on one line`)
}
