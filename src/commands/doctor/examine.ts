import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  processOutput,
  warningsTo,
  writeStdout,
  hasColour,
  terminalWidth,
} from '../../lib/cli/output.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { ApiKeyConfig } from '../../lib/auth/api-key-config.ts'
import { ConfigStore } from '../../lib/config/config-file.ts'
import { configPath, selectStateDirectory } from '../../lib/config/paths.ts'
import { ownerFile } from '../../lib/instances/files.ts'
import { readOwnerToken } from '../../lib/instances/owner-token.ts'
import { checkAdapterFiles, findProgram, judgeBlender } from './check-adapters.ts'
import { lookAtGateways } from './check-gateway.ts'
import { checkHostTokens } from './check-host-tokens.ts'
import { type InstanceFacts, judgeFaults, judgeInstances } from './check-instances.ts'
import { checkKeys } from './check-keys.ts'
import { isPortInUse, judgePort, knownPorts } from './check-ports.ts'
import { checkPrivatePath } from './check-private-path.ts'
import { checkInstance, checkOwnPush, type ThrowAwayServer } from './check-push.ts'
import { anyFailed, type Finding, reportJson, reportText } from './finding.ts'

type InstanceEntry = LocalInstances['entries'][number]
type LocalInstances = import('../../server/gateway/local-instances.ts').LocalInstances

interface Examination {
  /** Undefined: the default in the temp folder. */
  readonly registryDir: string | undefined
  readonly json: boolean
  readonly env: NodeJS.ProcessEnv
}

/** The number of instances that are tested. */
const maxTested = 20

/** Runs all checks and prints the findings. Returns false when one failed. */
export async function examine({ registryDir, json, env }: Examination): Promise<boolean> {
  const findings = await findAll(selectStateDirectory(registryDir, env), env)
  const colour = hasColour(process.stdout)
  const text = json
    ? JSON.stringify(reportJson(findings))
    : reportText(findings, colour, terminalWidth(process.stdout))
  await writeStdout(`${text}\n`)
  return !anyFailed(findings)
}

async function findAll(registryDir: string, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { openLocalInstances } = await import('../../server/gateway/local-instances.ts')
  const log = warningsTo(processOutput({ json: false, quiet: false }))
  const instances = await openLocalInstances(registryDir, log)
  try {
    const { entries, faults } = instances
    const facts = entries.map(entry => factsOf(instances, entry))
    const tested = Promise.all(testRunning(instances, join(registryDir, 'instances'), env))
    const serverOn = (port: number) => {
      const running = runningOf(instances).find(({ url }) => url?.includes(`:${port}/`))
      return running === undefined ? null : `the server of ${running.name} (${running.shortId})`
    }
    const blenders = entries
      .filter(({ record, verdict }) => record.dccType === 'blender' && verdict.health === 'live')
      .map(({ record }) => record.host)
    const connected = blenders.some(host => host.connected)
    const wasConnected = blenders.some(({ sinceMs }) => sinceMs !== undefined)
    const hasServer = runningOf(instances).length > 0
    const program = await findProgram('blender', env.PATH)
    const ports = knownPorts.map(async known => {
      const state = { inUse: await isPortInUse(known.port), server: serverOn(known.port) }
      return judgePort(known, state)
    })
    // Fixes the order of the findings.
    const findings = await Promise.all([
      checkNode(process.versions.node, `${process.platform}-${process.arch}`),
      checkRegistryDir(registryDir),
      checkConfigFile(env),
      checkEnvironment(env),
      checkKeys(env),
      tested.then(found => judgeInstances(facts, new Set(found.flatMap(answering)))),
      judgeFaults(faults),
      checkHostTokens(join(registryDir, 'instances'), runningOf(instances)),
      tested.then(found => found.map(({ finding }) => finding)),
      ...ports,
      lookAtGateways(registryDir),
      checkOwnPush(startThrowAway),
      lookAtCapture(env, wasConnected),
      checkAdapterFiles(),
      judgeBlender({ hasServer, program, connected, wasConnected }),
    ])
    return findings.flat()
  } finally {
    await instances.close()
  }
}

function factsOf(instances: LocalInstances, entry: InstanceEntry): InstanceFacts {
  const row = instances.row(entry)
  const { instance_short: shortId, display_name: name, health, reason } = row
  const { dcc_type: type, version, host_pid: appPid } = row
  const what = version === null ? type : `${type} ${version}`
  const application = { ...row.application, what, pid: appPid }
  return { shortId, name, health, reason, pid: entry.record.pid, application }
}

function runningOf(instances: LocalInstances) {
  return instances.entries
    .filter(({ verdict }) => verdict.health !== 'dead')
    .map(entry => {
      const { instance_short: shortId, display_name: name, mcp_url: url } = instances.row(entry)
      return { instanceId: entry.record.instanceId, shortId, name, url }
    })
}

interface Tested {
  readonly shortId: string
  readonly finding: Finding
}

function answering({ shortId, finding }: Tested): string[] {
  return finding.status === 'fail' ? [] : [shortId]
}

/**
 * Includes stale instances of this machine: a read-only state directory makes healthy ones stale.
 */
function testRunning(
  instances: LocalInstances,
  instancesDir: string,
  env: NodeJS.ProcessEnv,
): Promise<Tested>[] {
  const apiKey = new ApiKeyConfig().resolve(env)
  const isHere = ({ record }: InstanceEntry) => record.hostname === hostname()
  return instances.entries
    .filter(entry => {
      const { health } = entry.verdict
      return health === 'live' || (health !== 'dead' && isHere(entry) && isLocal(entry))
    })
    .slice(0, maxTested)
    .map(async entry => {
      const { instance_short: shortId, display_name: name } = instances.row(entry)
      const { mcpUrl, mcpUrlIsLoopback, localUrl } = entry.record
      const isPlain = mcpUrlIsLoopback && mcpUrl?.startsWith('http:') === true
      const url = (isPlain || localUrl === null ? mcpUrl : `${localUrl}/mcp`) ?? ''
      const ownerToken = await readOwnerToken(ownerFile(instancesDir, entry.record.instanceId))
      const facts = { shortId, name, url, loopback: isLocal(entry), ownerToken }
      return { shortId, finding: await checkInstance(facts, apiKey) }
    })
}

function isLocal({ record }: InstanceEntry): boolean {
  return record.mcpUrlIsLoopback || record.localUrl !== null
}

function checkRegistryDir(path: string): Promise<Finding> {
  return checkPrivatePath({
    check: 'registry_dir',
    what: 'the state directory',
    path,
    kind: 'folder',
    absent: `${path} does not exist yet; the first serve creates it`,
    elsewhere: 'choose another one with --registry-dir or SERVICE_REGISTRY_DIR',
  })
}

async function checkConfigFile(env: NodeJS.ProcessEnv): Promise<Finding> {
  let path: string
  try {
    path = configPath(env)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { message, hint = '' } = error
    return { check: 'config_file', status: 'fail', summary: message, hint }
  }
  const finding = await checkPrivatePath({
    check: 'config_file',
    what: 'the saved login',
    path,
    kind: 'file',
    absent: `${path} does not exist; service-cli login creates it`,
    elsewhere: 'choose another folder with XDG_CONFIG_HOME',
  })
  if (finding.status !== 'ok') return finding
  try {
    await new ConfigStore(path).read()
    return finding
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { message, hint = '' } = error
    return { check: 'config_file', status: 'fail', summary: message, hint }
  }
}

/** A server on a free port that stores nothing on disk and writes no instance record. */
async function startThrowAway(): Promise<ThrowAwayServer> {
  const { McpHttpServer } = await import('../../server/mcp/mcp-http-server.ts')
  const server = new McpHttpServer()
  const { url } = await server.start()
  return { url, setScene: scene => server.resources().setScene(scene), stop: () => server.stop() }
}

/** The first version with `shouldUpgradeCallback` of HTTP servers. The same as in `bin/run.js`. */
const minimum = '24.9'

/** `version` without the v. */
export function checkNode(version: string, platform: string): Finding {
  const check = 'node'
  if (isOlder(version, minimum)) {
    const summary = `Node ${version} is too old: ${minimum} or newer is required`
    return { check, status: 'fail', summary, hint: 'install Node 24 from https://nodejs.org' }
  }
  const summary = `Node ${version} on ${platform}`
  if (platform.startsWith('linux')) return { check, status: 'ok', summary }
  return {
    check,
    status: 'warn',
    summary: `${summary}: only Linux is tested so far`,
    hint: 'file owners and modes may not be checked, and the process on a port is unknown',
  }
}

function isOlder(version: string, minimum: string): boolean {
  const have = version.split('.').map(Number)
  const [major = 0, minor = 0] = minimum.split('.').map(Number)
  return (have[0] ?? 0) < major || (have[0] === major && (have[1] ?? 0) < minor)
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
export function checkEnvironment(env: Record<string, string | undefined>): Finding {
  const names = Object.keys(variables).filter(name => env[name] !== undefined)
  const empty = names.filter(name => env[name] === '')
  const details = names
    .filter(name => env[name] !== '')
    .map(name => `${name} is set: ${variables[name] ?? ''}`)
  if (empty.length > 0) {
    return {
      check: 'environment',
      status: 'warn',
      summary: `${empty.join(', ')}: empty, which counts as not set`,
      details,
      hint: 'unset it, or check the source of its value',
    }
  }
  const summary =
    details.length === 0 ? 'no variable of service-cli is set' : 'variables of service-cli are set'
  return { check: 'environment', status: 'ok', summary, details }
}

type SurveyedBackend = import('../../server/capture/survey.ts').SurveyedBackend
type Env = Readonly<Record<string, string | undefined>>

const check = 'window_capture'
const wayland =
  'this session runs Wayland: only windows of X11 programs can be captured from outside; ' +
  'other applications must send pictures themselves, as the Blender add-on does'

/** Judges window capture. `drawsItself`: the application of an instance sends pictures itself. */
export function judgeCapture(
  found: readonly SurveyedBackend[],
  env: Env,
  drawsItself = false,
): Finding {
  const troubles = found.flatMap(({ name, unavailable }) =>
    unavailable === null ? [] : [`${name}: ${unavailable.message}; ${unavailable.hint}`],
  )
  const isWayland = (env.WAYLAND_DISPLAY ?? '') !== '' || env.XDG_SESSION_TYPE === 'wayland'
  const details = [...troubles, ...(isWayland ? [wayland] : [])]
  const working = found.filter(({ unavailable }) => unavailable === null).map(({ name }) => name)
  if (working.length > 0) {
    const summary = `windows of applications can be captured (${working.join(', ')})`
    return { check, status: isWayland ? 'warn' : 'ok', summary, details }
  }
  if (drawsItself) {
    const summary = 'Blender sends pictures itself while connected; no other window can be captured'
    return { check, status: 'ok', summary, details }
  }
  return {
    check,
    status: 'warn',
    summary: 'no window can be captured from outside its application',
    details,
    hint: 'see docs/capture.md; applications that send pictures themselves need nothing',
  }
}

/** Surveys the capture backends; captures nothing. */
async function lookAtCapture(env: Env, drawsItself: boolean): Promise<Finding> {
  const { surveyCapture } = await import('../../server/capture/survey.ts')
  return judgeCapture(await surveyCapture(), env, drawsItself)
}
