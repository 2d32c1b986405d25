import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'
import { ApiKeyConfig, keyVariable } from '../../lib/auth/api-key-config.ts'
import { readClientKeys } from '../../lib/auth/client-keys.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { keysPath } from '../../lib/config/paths.ts'
import { ownerFile } from '../../lib/instances/files.ts'
import { readOwnerToken } from '../../lib/instances/owner-token.ts'
import { counted } from '../../lib/util/amounts.ts'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'
import { isOwn, ownUid } from '../../lib/util/posix.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { defaultPorts } from '../default-ports.ts'
import { checkInstance, type InstanceFacts } from './check-instance.ts'
import { checkJoinedGateways } from './check-joined.ts'
import { checkPush } from './check-push.ts'
import type { Finding } from './finding.ts'

type LocalInstances = import('../../server/gateway/local-instances.ts').LocalInstances
type InstanceEntry = LocalInstances['entries'][number]
type Env = Readonly<Record<string, string | undefined>>

/** The number of instances that are tested. */
const maxTested = 20

/** Runs all checks. `joinToken` reads the token of `serve --join`; null: none is given. */
export async function examine(
  registryDir: string,
  joinToken: (() => Promise<Secret>) | null,
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const { openLocalInstances } = await import('../../server/gateway/local-instances.ts')
  const log = warningsTo(processOutput({ json: false, quiet: false }))
  const instances = await openLocalInstances(registryDir, log)
  try {
    const running = instances.entries.filter(({ verdict }) => verdict.health !== 'dead')
    const facts = await Promise.all(
      running
        .slice(0, maxTested)
        .map(entry => factsOf(instances, entry, join(registryDir, 'instances'))),
    )
    const apiKey = new ApiKeyConfig().resolve(env)
    // Fixes the order of the findings.
    const findings = await Promise.all([
      checkNode(),
      checkFolder(registryDir),
      checkEnvironment(env),
      checkKeys(env),
      summarise(instances, running.length),
      ...facts.map(each => checkInstance(each, apiKey)),
      ...Object.entries(defaultPorts).map(([command, port]) => checkPort(command, port, facts)),
      checkJoinedGateways(facts, joinToken, env),
      checkPush(),
      checkCapture(env, facts),
      checkBlender(env.PATH, facts),
    ])
    return findings.flat()
  } finally {
    await instances.close()
  }
}

async function factsOf(
  instances: LocalInstances,
  entry: InstanceEntry,
  instancesDir: string,
): Promise<InstanceFacts> {
  const { mcpUrl, mcpUrlIsLoopback, localUrl, instanceId, pid, gateways = [] } = entry.record
  const isPlain = mcpUrlIsLoopback && mcpUrl?.startsWith('http:') === true
  const isHere = entry.record.hostname === hostname() && (mcpUrlIsLoopback || localUrl !== null)
  const url = isPlain || localUrl === null ? mcpUrl : `${localUrl}/mcp`
  const ownerToken = await readOwnerToken(ownerFile(instancesDir, instanceId))
  return { row: instances.row(entry), pid, url: isHere ? url : null, gateways, ownerToken }
}

function checkNode(): Finding {
  const check = 'node'
  const { platform, arch, versions } = process
  const summary = `Node ${versions.node} on ${platform}-${arch}`
  if (platform === 'linux') return { check, status: 'ok', summary }
  const hint = 'owners and modes of files are not checked on Windows'
  return { check, status: 'warn', summary: `${summary}: only Linux is tested so far`, hint }
}

/** Whether the state directory is a folder that only this user can use. Changes nothing. */
async function checkFolder(path: string): Promise<Finding> {
  const check = 'registry_dir'
  const what = `the state directory ${path}`
  const elsewhere = 'choose another one with --registry-dir or SERVICE_REGISTRY_DIR'
  const fail = (problem: string, hint: string): Finding => {
    return { check, status: 'fail', summary: `${what} ${problem}`, hint }
  }
  try {
    const found = await lstat(path)
    if (!found.isDirectory()) return fail('is not a folder', `remove it, or ${elsewhere}`)
    if (!isOwn(found)) return fail(`belongs to another user (uid ${found.uid})`, elsewhere)
    if (ownUid() !== null && (found.mode & 0o077) !== 0) {
      return fail('is open to other users', `chmod 700 ${path}`)
    }
    await access(path, constants.W_OK)
    return { check, status: 'ok', summary: `${what} is private` }
  } catch (error) {
    const code = errnoOf(error)
    const hint = `make it writable, or ${elsewhere}`
    if (code !== 'ENOENT') return fail(`cannot be used (${code})`, hint)
    const summary = `${what} does not exist yet; the first serve creates it`
    return { check, status: 'ok', summary }
  }
}

/** The effect of each variable; the README lists the same ones. Values are never shown. */
export const variables: Readonly<Record<string, string>> = {
  SERVICE_MCP_API_KEY: 'serve and gateway require it from clients',
  SERVICE_HOST_TOKEN: 'applications must present it',
  SERVICE_JOIN_TOKEN: 'serve --join presents it to the gateway',
  SERVICE_HOST_URL: 'adapters connect to this address only',
  SERVICE_REGISTRY_DIR: 'names the state directory',
  SERVICE_REGISTRY: 'names the accounts server',
  SERVICE_TOKEN: 'overrides the saved login',
  SERVICE_TOKEN_FILE: 'overrides the saved login',
  SERVICE_DATABASE_URL: 'registry and serve --artefacts use this PostgreSQL database',
}

/** Lists the variables that are set; warns of empty ones, which count as absent. */
function checkEnvironment(env: Env): Finding {
  const check = 'environment'
  const empty = Object.keys(variables).filter(name => env[name] === '')
  const details = Object.entries(variables).flatMap(([name, effect]) =>
    env[name] ? `${name} is set: ${effect}` : [],
  )
  if (empty.length > 0) {
    const summary = `${empty.join(', ')}: empty, which counts as not set`
    const hint = 'unset it, or check the source of its value'
    return { check, status: 'warn', summary, details, hint }
  }
  const which =
    details.length === 0 ? 'no variable of service-cli is' : 'variables of service-cli are'
  return { check, status: 'ok', summary: `${which} set`, details }
}

/** Reports whether a server without `--auth` requires a key, or refuses every client. */
async function checkKeys(env: Env): Promise<Finding> {
  const check = 'keys'
  try {
    const keysFile = keysPath(env)
    const file = await readClientKeys(keysFile)
    const isRequired = file !== null && file.open !== true
    if (env[keyVariable] || (isRequired && file.keys.length > 0)) {
      const source = env[keyVariable] ? keyVariable : keysFile
      return { check, status: 'ok', summary: `servers require a key (${source})` }
    }
    if (isRequired) {
      const summary = `servers refuse every client: there is no key in ${keysFile}`
      const hint = 'make one with service-cli keys create, or run service-cli keys off'
      return { check, status: 'warn', summary, hint }
    }
    const summary = 'servers start without authentication: no key is configured'
    return { check, status: 'ok', summary }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { message, hint } = error
    return { check, status: 'warn', summary: `serve does not start: ${message}`, hint }
  }
}

function summarise({ entries, faults }: LocalInstances, running: number): Finding {
  const check = 'instances'
  const dead = entries.length - running
  const ended = dead === 0 ? '' : `; ${counted(dead, 'record')} of ended ones`
  if (faults.length > 0) {
    const summary = `${counted(faults.length, 'invalid instance record')}${ended}`
    const details = faults.map(({ source, reason }) => `${source}: ${reason}`)
    const hint =
      'check these files in the folder "instances" of the state directory; remove those that are not yours'
    return { check, status: 'warn', summary, details, hint }
  }
  if (running > 0) {
    const more = running > maxTested ? `; the first ${maxTested} are tested` : ''
    const summary = `${counted(running, 'instance')} running${ended}${more}`
    return { check, status: 'ok', summary }
  }
  const hint = 'start one beside your application: service-cli serve'
  return { check, status: 'ok', summary: `no instance runs${ended}`, hint }
}

const connectMs = 1000

/** Whether the default port of a server is in use, and by which instance. */
async function checkPort(command: string, port: number, facts: InstanceFacts[]): Promise<Finding> {
  const { connect } = await import('node:net')
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host: '127.0.0.1', port, timeout: connectMs })
  socket.once('timeout', () => resolve(false))
  socket.once('connect', () => resolve(true))
  socket.once('error', () => resolve(false))
  const isInUse = await promise
  socket.destroy()
  const check = `port_${port}`
  const what = `port ${port} (${command})`
  if (!isInUse) return { check, status: 'ok', summary: `${what} is free` }
  const server = facts.find(({ url }) => url !== null && new URL(url).port === String(port))
  if (server !== undefined) {
    const { display_name: name, instance_short: short } = server.row
    const summary = `${what} is in use by the server of ${name} (${short})`
    return { check, status: 'ok', summary }
  }
  const hint = `to start service-cli ${command}, stop that server or use --port 0`
  return { check, status: 'ok', summary: `${what} is in use`, hint }
}

const wayland =
  'this session runs Wayland: only windows of X11 programs can be captured from outside; ' +
  'other applications must send pictures themselves, as the Blender add-on does'

/** Surveys the capture methods; captures nothing. */
async function checkCapture(env: Env, facts: InstanceFacts[]): Promise<Finding> {
  const { surveyCapture } = await import('../../server/capture/survey.ts')
  const check = 'window_capture'
  const found = await surveyCapture()
  const isWayland = Boolean(env.WAYLAND_DISPLAY) || env.XDG_SESSION_TYPE === 'wayland'
  const details = found.flatMap(({ name, unavailable }) =>
    unavailable === null ? [] : `${name}: ${unavailable.message}; ${unavailable.hint}`,
  )
  if (isWayland) details.push(wayland)
  const working = found.filter(({ unavailable }) => unavailable === null).map(({ name }) => name)
  const hint = 'see docs/capture.md; applications that send pictures themselves need nothing'
  if (working.length > 0) {
    const summary = `windows of applications can be captured (${working.join(', ')})`
    return { check, status: isWayland ? 'warn' : 'ok', summary, details, hint }
  }
  if (hadBlender(facts)) {
    const summary = 'Blender sends pictures itself while connected; no other window can be captured'
    return { check, status: 'ok', summary, details }
  }
  const summary = 'no window can be captured from outside its application'
  return { check, status: 'warn', summary, details, hint }
}

/** Whether Blender is or was connected to a running instance: it has the add-on. */
function hadBlender(facts: InstanceFacts[]): boolean {
  return facts.some(({ row }) => row.dcc_type === 'blender' && row.application.since !== null)
}

/** Reports an installed Blender that has never connected: usually the add-on is missing. */
async function checkBlender(path: string | undefined, facts: InstanceFacts[]): Promise<Finding> {
  const check = 'blender'
  if (hadBlender(facts)) return { check, status: 'ok', summary: 'Blender has connected' }
  for (const folder of (path ?? '').split(delimiter)) {
    // A relative folder depends on the working folder.
    if (!isAbsolute(folder)) continue
    const program = join(folder, 'blender')
    if ((await access(program, constants.X_OK).catch(() => false)) === false) continue
    const start =
      facts.length > 0 ? '' : 'start a server: service-cli serve --dcc-type blender; then, '
    const hint = `${start}in Blender, press Connect; service-cli adapter blender writes the add-on if it is missing`
    const summary = `Blender is installed (${program}) but not connected`
    return { check, status: 'warn', summary, hint }
  }
  return { check, status: 'ok', summary: 'Blender is not in PATH' }
}
