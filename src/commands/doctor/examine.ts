import { join } from 'node:path'
import { createOutput, warningsTo } from '../../lib/cli/output.ts'
import { describeTerminal, terminalWidth } from '../../lib/cli/terminal.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { writeStdout } from '../../lib/cli/write-stdout.ts'
import { ApiKeyConfig } from '../../lib/auth/api-key-config.ts'
import { configPath } from '../../lib/config/paths.ts'
import { absenceText } from '../../lib/instances/absence.ts'
import { selectRegistryDir } from '../../lib/util/registry-path.ts'
import { checkAdapterFiles, findProgram, judgeBlender } from './check-adapters.ts'
import { lookAtCapture } from './check-capture.ts'
import { checkEnvironment } from './check-environment.ts'
import { lookAtGateways } from './check-gateway.ts'
import { checkHostTokens } from './check-host-tokens.ts'
import { judgeFaults, judgeInstances } from './check-instances.ts'
import { checkNode } from './check-node.ts'
import { judgePort, knownPorts, readPort } from './check-ports.ts'
import { checkPrivatePath } from './check-private-path.ts'
import { checkInstance, checkOwnPush } from './check-push.ts'
import { anyFailed, type Finding, reportJson, reportText } from './finding.ts'
import { startThrowAway } from './throw-away.ts'

type InstanceEntry = LocalInstances['entries'][number]
type LocalInstances = import('../../server/gateway/local-instances.ts').LocalInstances

export interface Examination {
  /** Undefined: the default in the temp folder. */
  readonly registryDir: string | undefined
  readonly json: boolean
  readonly env: NodeJS.ProcessEnv
}

/** Live instances that are asked; of a farm of them, the first ones say enough. */
const maxAsked = 20

/** Runs every check and prints what they found. False when one failed. */
export async function examine({ registryDir, json, env }: Examination): Promise<boolean> {
  const folder = selectRegistryDir(registryDir, env)
  const findings = await findAll(folder, env)
  const { colour } = describeTerminal(process.stdout.isTTY, env)
  const text = json
    ? JSON.stringify(reportJson(findings))
    : reportText(findings, colour, terminalWidth(process.stdout))
  await writeStdout(`${text}\n`)
  return !anyFailed(findings)
}

async function findAll(registryDir: string, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { openLocalInstances } = await import('../../server/gateway/local-instances.ts')
  const parts = { json: false, quiet: false, stdout: process.stdout, stderr: process.stderr }
  const instances = await openLocalInstances(registryDir, warningsTo(createOutput(parts)))
  try {
    const { entries, faults } = instances
    const facts = entries.map(entry => factsOf(instances, entry))
    const ownOf = (pid: number) => {
      const found = facts.find(fact => fact.pid === pid && fact.health !== 'dead')
      return found === undefined ? null : `${found.name} (${found.shortId})`
    }
    const connected = entries.some(
      ({ record, verdict }) =>
        record.dccType === 'blender' && record.host.connected && verdict.health === 'live',
    )
    const program = await findProgram('blender', env.PATH)
    const ports = knownPorts.map(async known => judgePort(known, await readPort(known.port, ownOf)))
    // Shown in this order, whichever is done first.
    const findings = await Promise.all([
      checkNode(process.versions.node, `${process.platform}-${process.arch}`),
      checkRegistryDir(registryDir),
      checkConfigFile(env),
      checkEnvironment(env),
      judgeInstances(facts),
      judgeFaults(faults),
      checkHostTokens(join(registryDir, 'instances'), runningOf(instances)),
      ...askLive(instances, env),
      ...ports,
      lookAtGateways(registryDir),
      checkOwnPush(startThrowAway),
      lookAtCapture(env, connected),
      checkAdapterFiles(),
      judgeBlender({ program, connected }),
    ])
    return findings.flat()
  } finally {
    await instances.close()
  }
}

function factsOf(instances: LocalInstances, entry: InstanceEntry) {
  const { instance_short: shortId, display_name: name, ...row } = instances.row(entry)
  const { health, reason, application } = row
  const absence = absenceText(application)
  return { shortId, name, health, reason, pid: entry.record.pid, absence }
}

function runningOf(instances: LocalInstances) {
  return instances.entries
    .filter(({ verdict }) => verdict.health !== 'dead')
    .map(entry => {
      const { instance_short: shortId, display_name: name } = instances.row(entry)
      return { instanceId: entry.record.instanceId, shortId, name }
    })
}

function askLive(instances: LocalInstances, env: NodeJS.ProcessEnv): Promise<Finding>[] {
  const apiKey = new ApiKeyConfig().resolve(env)
  return instances.entries
    .filter(({ verdict }) => verdict.health === 'live')
    .slice(0, maxAsked)
    .map(entry => {
      const { instance_short: shortId, display_name: name } = instances.row(entry)
      const { mcpUrl, mcpUrlIsLoopback, localUrl } = entry.record
      const isPlain = mcpUrlIsLoopback && mcpUrl.startsWith('http:')
      const url = isPlain || localUrl === null ? mcpUrl : `${localUrl}/mcp`
      const loopback = mcpUrlIsLoopback || localUrl !== null
      return checkInstance({ shortId, name, url, loopback }, apiKey)
    })
}

function checkRegistryDir(path: string): Promise<Finding> {
  return checkPrivatePath({
    check: 'registry_dir',
    what: 'the registry folder',
    path,
    kind: 'folder',
    absent: `${path} is not there yet; the first serve makes it`,
    elsewhere: 'name another one with --registry-dir or SERVICE_REGISTRY_DIR',
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
  return checkPrivatePath({
    check: 'config_file',
    what: 'the saved login',
    path,
    kind: 'file',
    absent: `there is none (${path}); service-cli login makes it`,
    elsewhere: 'name another folder with XDG_CONFIG_HOME',
  })
}
