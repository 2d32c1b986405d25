import { isLoopback } from '../../lib/util/net.ts'
import { processStart } from '../../lib/instances/process.ts'
import { defaultPorts } from '../default-ports.ts'
import type { Finding } from './finding.ts'

type ActiveGateway = import('../../server/gateway/active-gateway.ts').ActiveGateway
type Holder = import('../../server/gateway/election.ts').Holder

const { gateway: gatewayPort } = defaultPorts

/**
 * Judges the holder of the gateway port. `registry` is the mark of the examined state directory.
 */
export function judgeGateway(holder: Holder, registry: string, port: number): Finding {
  const check = port === gatewayPort ? 'gateway' : `gateway_${port}`
  const none = `no gateway runs on port ${port}`
  switch (holder.kind) {
    case 'free':
    case 'stranger': {
      const hint = 'service-cli gateway, or serve --gateway, starts one'
      return { check, status: 'ok', summary: none, hint }
    }
    case 'silent': {
      if (holder.active === null) return { check, status: 'ok', summary: none }
      const { pid } = holder.active
      return {
        check,
        status: 'fail',
        summary: `the gateway on port ${port} (process ${pid}) accepts connections but does not answer`,
        hint: `end process ${pid}; a standby takes over, otherwise run service-cli gateway`,
      }
    }
    case 'gateway': {
      const { pid, version, url } = holder.active
      const summary = `the gateway answers at ${url} (process ${pid}, version ${version})`
      if (holder.active.registry === registry) return { check, status: 'ok', summary }
      return {
        check,
        status: 'warn',
        summary: `${summary}, but uses another state directory`,
        hint: 'start another one with service-cli gateway --port 0, or pass its --registry-dir',
      }
    }
  }
}

/** The number of further gateways that are checked. */
const maxElsewhere = 8

/** Checks the holder of the gateway port and the gateways recorded in the state directory. */
export async function lookAtGateways(registryDir: string): Promise<Finding[]> {
  const [
    { createHolderProbe },
    { listActiveGatewayFiles, readActiveGatewayFile, activeGatewayFile },
    active,
    fs,
  ] = await Promise.all([
    import('../../server/gateway/holder-probe.ts'),
    import('../../server/gateway/active-gateway.ts'),
    import('../../server/gateway/active-gateway.ts'),
    import('node:fs/promises'),
  ])
  const registry = active.registryMark(await fs.realpath(registryDir).catch(() => registryDir))

  async function look(port: number, base: string): Promise<Holder> {
    const written = () => readActiveGatewayFile(activeGatewayFile(registryDir, port))
    const probe = createHolderProbe({ base, timeoutMs: 3000, written })
    try {
      return await probe.look()
    } finally {
      probe.close()
    }
  }

  async function lookElsewhere(port: number, written: ActiveGateway): Promise<Finding[]> {
    // A killed gateway leaves its file.
    if ((await processStart(written.pid)) !== written.pidStart) return []
    const holder = await look(port, baseOf(written, port))
    const isOne = holder.kind === 'gateway' || holder.kind === 'silent'
    return isOne ? [judgeGateway(holder, registry, port)] : []
  }

  const usual = async () =>
    judgeGateway(await look(gatewayPort, localAt(gatewayPort)), registry, gatewayPort)
  const written = await listActiveGatewayFiles(registryDir)
  const elsewhere = written.filter(({ port }) => port !== gatewayPort).slice(0, maxElsewhere)
  const found = elsewhere.map(({ port, written }) => lookElsewhere(port, written))
  return (await Promise.all([usual(), ...found])).flat()
}

function localAt(port: number): string {
  return `http://127.0.0.1:${port}`
}

/** The local address: the URL may be that of a proxy. */
function baseOf({ url }: ActiveGateway, port: number): string {
  const { protocol, hostname, port: shown, origin } = new URL(url)
  const isOwn = isLoopback(hostname) && Number(shown) === port
  return isOwn && protocol === 'http:' ? origin : localAt(port)
}
