import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { connect } from 'node:net'
import { delimiter, isAbsolute, join } from 'node:path'
import { ApiKeyConfig, keyVariable } from '../../lib/auth/api-key-config.ts'
import { readClientKeys } from '../../lib/auth/client-keys.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { keysPath } from '../../lib/config/paths.ts'
import { ownerFile, readOwnerToken } from '../../lib/instances/files.ts'
import { counted } from '../../lib/util/amounts.ts'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'
import { isOwn, ownUid } from '../../lib/util/posix.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { InstanceDirectory, InstanceEntry } from '../../server/gateway/instance-directory.ts'
import { defaultPorts } from '../default-ports.ts'
import { runningGateways } from '../running-gateway.ts'
import { checkInstance, type InstanceFacts } from './check-instance.ts'
import { checkJoinedGateways } from './check-joined.ts'
import { checkPush } from './check-push.ts'
import { type Finding, finding } from './finding.ts'

/** Runs all checks. `joinToken` reads the token of `serve --join`; null: none is given. */
export async function examine(
  registryDir: string,
  joinToken: (() => Promise<Secret>) | null,
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const { LocalDirectory } = await import('../../server/gateway/local-directory.ts')
  const log = warningsTo(processOutput({ json: false, quiet: false }))
  const instancesDir = join(registryDir, 'instances')
  const instances = await LocalDirectory.open({ instancesDir, log })
  try {
    const running = instances.entries.filter(({ verdict }) => verdict.health !== 'dead')
    const facts = await Promise.all(running.map(entry => factsOf(entry, instancesDir)))
    const gateways = await runningGateways(registryDir)
    const apiKey = new ApiKeyConfig().resolve(env)
    // Fixes the order of the findings.
    const findings = await Promise.all([
      checkNode(),
      checkFolder(registryDir),
      checkKeys(env),
      summarise(instances, running.length),
      ...facts.map(each => checkInstance(each, apiKey)),
      ...Object.entries(defaultPorts).map(([command, port]) =>
        checkPort(command, port, facts, gateways),
      ),
      checkJoinedGateways(facts, joinToken, env),
      checkPush(),
      checkCapture(env, facts),
      checkBlender(env, facts),
    ])
    return findings.flat()
  } finally {
    await instances.close()
  }
}

async function factsOf(entry: InstanceEntry, instancesDir: string): Promise<InstanceFacts> {
  const { instanceRow } = await import('../../server/gateway/instance-rows.ts')
  const { probeUrl } = await import('../../server/gateway/probes.ts')
  const { instance_id: instanceId, pid, gateways = [] } = entry.record
  const at = probeUrl(entry.record)
  const ownerToken = await readOwnerToken(ownerFile(instancesDir, instanceId))
  return {
    row: instanceRow(entry),
    pid,
    url: at.ok ? new URL('/mcp', at.value).href : null,
    gateways,
    ownerToken,
  }
}

function checkNode(): Finding {
  const { platform, arch, versions } = process
  const summary = `Node ${versions.node} on ${platform}-${arch}`
  if (platform === 'linux') return finding('node', 'ok', summary)
  const hint = 'owners and modes of files are not checked on Windows'
  return finding('node', 'warn', `${summary}: only Linux is tested so far`, hint)
}

/** Whether the state directory is a folder that only this user can use. Changes nothing. */
async function checkFolder(path: string): Promise<Finding> {
  const elsewhere = 'choose another one with --registry-dir or SERVICE_REGISTRY_DIR'
  const found = (status: Finding['status'], said: string, hint?: string): Finding =>
    finding('registry_dir', status, `the state directory ${path} ${said}`, hint)
  try {
    const stats = await lstat(path)
    if (!stats.isDirectory()) return found('fail', 'is not a folder', `remove it, or ${elsewhere}`)
    if (!isOwn(stats)) return found('fail', `belongs to another user (uid ${stats.uid})`, elsewhere)
    if (ownUid() !== null && (stats.mode & 0o077) !== 0) {
      return found('fail', 'is open to other users', `chmod 700 ${path}`)
    }
    await access(path, constants.W_OK)
    return found('ok', 'is private')
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') return found('ok', 'does not exist yet; the first serve creates it')
    return found('fail', `cannot be used (${code})`, `make it writable, or ${elsewhere}`)
  }
}

/** Reports whether a server without `--auth` requires a key, or refuses every client. */
async function checkKeys(env: NodeJS.ProcessEnv): Promise<Finding> {
  try {
    const keysFile = keysPath(env)
    const file = await readClientKeys(keysFile)
    const isRequired = file !== null && file.open !== true
    if (env[keyVariable] || (isRequired && file.keys.length > 0)) {
      const source = env[keyVariable] ? keyVariable : keysFile
      return finding('keys', 'ok', `servers require a key (${source})`)
    }
    if (isRequired) {
      const summary = `servers refuse every client: there is no key in ${keysFile}`
      const hint = 'make one with service-cli keys create, or run service-cli keys off'
      return finding('keys', 'warn', summary, hint)
    }
    return finding('keys', 'ok', 'servers start without authentication: no key is configured')
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return finding('keys', 'warn', `serve does not start: ${error.message}`, error.hint)
  }
}

function summarise({ entries, faults }: InstanceDirectory, running: number): Finding {
  const dead = entries.length - running
  const ended = dead === 0 ? '' : `; ${counted(dead, 'record')} of ended ones`
  if (faults.length > 0) {
    const summary = `${counted(faults.length, 'invalid instance record')}${ended}`
    const details = faults.map(({ source, reason }) => `${source}: ${reason}`)
    const hint =
      'check these files in the folder "instances" of the state directory; remove those that are not yours'
    return finding('instances', 'warn', summary, hint, details)
  }
  if (running > 0) {
    return finding('instances', 'ok', `${counted(running, 'instance')} running${ended}`)
  }
  const hint = 'start one beside your application: service-cli serve'
  return finding('instances', 'ok', `no instance runs${ended}`, hint)
}

/** Whether the default port of a server is in use, and by which instance or gateway. */
async function checkPort(
  command: string,
  port: number,
  facts: InstanceFacts[],
  gateways: { url: string; pid: number }[],
): Promise<Finding> {
  const socket = connect({ host: '127.0.0.1', port })
  const isInUse = await once(socket, 'connect', { signal: AbortSignal.timeout(1000) }).then(
    () => true,
    () => false,
  )
  socket.destroy()
  const check = `port_${port}`
  const what = `port ${port} (${command})`
  if (!isInUse) return finding(check, 'ok', `${what} is free`)
  const server = facts.find(({ url }) => url !== null && new URL(url).port === String(port))
  if (server !== undefined) {
    const { display_name: name, instance_short: short } = server.row
    return finding(check, 'ok', `${what} is in use by the server of ${name} (${short})`)
  }
  const gateway = gateways.find(({ url }) => new URL(url).port === String(port))
  if (gateway !== undefined) {
    return finding(check, 'ok', `${what} is in use by the gateway of process ${gateway.pid}`)
  }
  const hint = `to start service-cli ${command}, stop that server or use --port 0`
  return finding(check, 'ok', `${what} is in use`, hint)
}

const wayland =
  'this session runs Wayland: only windows of X11 programs can be captured from outside; ' +
  'other applications must send pictures themselves, as the Blender add-on does'

/** Whether windows can be captured from outside of their application; captures nothing. */
async function checkCapture(env: NodeJS.ProcessEnv, facts: InstanceFacts[]): Promise<Finding> {
  const { listWindows } = await import('../../server/capture/native-backend.ts')
  const check = 'window_capture'
  const found = await listWindows()
  const isWayland = Boolean(env.WAYLAND_DISPLAY) || env.XDG_SESSION_TYPE === 'wayland'
  const details = found.ok ? [] : [`${found.failure.message}; ${found.failure.hint}`]
  if (isWayland) details.push(wayland)
  const hint = 'see docs/capture.md; applications that send pictures themselves need nothing'
  if (found.ok) {
    const summary = 'windows of applications can be captured'
    return finding(check, isWayland ? 'warn' : 'ok', summary, hint, details)
  }
  if (hadBlender(facts)) {
    const summary = 'Blender sends pictures itself while connected; no other window can be captured'
    return finding(check, 'ok', summary, null, details)
  }
  const summary = 'no window can be captured from outside its application'
  return finding(check, 'warn', summary, hint, details)
}

/** Whether Blender is or was connected to a running instance: it has the add-on. */
function hadBlender(facts: InstanceFacts[]): boolean {
  return facts.some(({ row }) => row.dcc_type === 'blender' && row.application.since !== null)
}

/** Reports an installed Blender that has never connected: usually the add-on is missing. */
async function checkBlender(
  { PATH = '' }: NodeJS.ProcessEnv,
  facts: InstanceFacts[],
): Promise<Finding> {
  if (hadBlender(facts)) return finding('blender', 'ok', 'Blender has connected')
  // A relative folder depends on the working folder.
  for (const folder of PATH.split(delimiter).filter(isAbsolute)) {
    const program = join(folder, 'blender')
    if ((await access(program, constants.X_OK).catch(() => false)) === false) continue
    const start =
      facts.length > 0 ? '' : 'start a server: service-cli serve --dcc-type blender; then, '
    const hint = `${start}in Blender, press Connect; service-cli adapter blender writes the add-on if it is missing`
    const summary = `Blender is installed (${program}) but not connected`
    return finding('blender', 'warn', summary, hint)
  }
  return finding('blender', 'ok', 'Blender is not in PATH')
}
