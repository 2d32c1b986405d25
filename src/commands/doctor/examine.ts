import { constants } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { ApiKeyConfig, keyVariable } from '../../lib/auth/api-key-config.ts'
import { readClientKeys } from '../../lib/auth/client-keys.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { keysPath } from '../../lib/config/paths.ts'
import { counted } from '../../lib/util/amounts.ts'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'
import { isOwn, ownUid } from '../../lib/util/posix.ts'
import type { Secret } from '../../lib/util/secret.ts'
import type { InstanceDirectory } from '../../server/gateway/instance-directory.ts'
import { checkInstance } from './check-instance.ts'
import { checkGateway, checkJoinToken } from './check-joined.ts'
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
    const gateways = new Set(running.flatMap(({ record }) => record.gateways ?? []))
    const apiKey = new ApiKeyConfig().resolve(env)
    // Blender is or was connected: it has the add-on.
    const hadBlender = running.some(
      ({ record: { dcc_type: kind, host } }) => kind === 'blender' && host.since !== undefined,
    )
    // Fixes the order of the findings.
    return await Promise.all([
      checkNode(),
      checkFolder(registryDir),
      checkKeys(env),
      summarise(instances, running.length),
      ...running.map(entry => checkInstance(entry, instancesDir, apiKey)),
      ...Array.from(gateways, gateway => checkGateway(gateway, env)),
      ...(joinToken === null
        ? []
        : Array.from(gateways, gateway => checkJoinToken(gateway, joinToken))),
      checkCapture(env, hadBlender),
      checkBlender(env, hadBlender, running.length > 0),
    ])
  } finally {
    await instances.close()
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
  const found = (status: Finding['status'], text: string, hint?: string): Finding =>
    finding('registry_dir', status, `the state directory ${path} ${text}`, hint)
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
  if (faults.length === 0) {
    return finding('instances', 'ok', `${counted(running, 'instance')} running${ended}`)
  }
  const summary = `${counted(faults.length, 'invalid instance record')}${ended}`
  const details = faults.map(({ source, reason }) => `${source}: ${reason}`)
  const hint =
    'check these files in the folder "instances" of the state directory; remove those that are not yours'
  return finding('instances', 'warn', summary, hint, details)
}

const wayland =
  'this session runs Wayland: only windows of X11 programs can be captured from outside; ' +
  'other applications must send pictures themselves, as the Blender add-on does'

/** Whether windows can be captured from outside of their application; captures nothing. */
async function checkCapture(env: NodeJS.ProcessEnv, hadBlender: boolean): Promise<Finding> {
  const { listWindows } = await import('../../server/capture/native-backend.ts')
  const windows = await listWindows()
  const isWayland = Boolean(env.WAYLAND_DISPLAY) || env.XDG_SESSION_TYPE === 'wayland'
  const details = windows.ok ? [] : [`${windows.failure.message}; ${windows.failure.hint}`]
  if (isWayland) details.push(wayland)
  const summary = windows.ok
    ? 'windows of applications can be captured'
    : 'no window can be captured from outside its application'
  // Blender sends pictures itself.
  const isFine = windows.ok ? !isWayland : hadBlender
  const hint = 'see docs/resources.md; applications that send pictures themselves need nothing'
  return finding('window_capture', isFine ? 'ok' : 'warn', summary, hint, details)
}

/** Reports an installed Blender that has never connected: usually the add-on is missing. */
async function checkBlender(
  { PATH = '' }: NodeJS.ProcessEnv,
  hadBlender: boolean,
  isServing: boolean,
): Promise<Finding> {
  if (hadBlender) return finding('blender', 'ok', 'Blender has connected')
  // A relative folder depends on the working folder.
  for (const folder of PATH.split(delimiter).filter(isAbsolute)) {
    const program = join(folder, 'blender')
    if ((await access(program, constants.X_OK).catch(() => false)) === false) continue
    const start = isServing ? '' : 'start a server: service-cli serve --dcc-type blender; then, '
    const hint = `${start}in Blender, press Connect; service-cli adapter blender writes the add-on if it is missing`
    return finding('blender', 'warn', `Blender is installed (${program}) but not connected`, hint)
  }
  return finding('blender', 'ok', 'Blender is not in PATH')
}
