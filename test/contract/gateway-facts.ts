import { hostname } from 'node:os'
import { systemClock, systemTimer } from '../../src/lib/util/time.ts'
import { bundledCatalog } from '../../src/lib/util/adapter-files.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { createHandlers } from '../../src/server/mcp/app.ts'
import { CatalogFile } from '../../src/server/gateway/catalog/catalog-file.ts'
import { EventRing } from '../../src/server/gateway/event-ring.ts'
import { Relays } from '../../src/server/gateway/relay/relays.ts'
import { openView } from '../../src/server/gateway/views/view.ts'
import { resolveGatewayLimits } from '../../src/lib/config/gateway-limits.ts'
import { accessLogOn } from '../../src/server/http/access-log.ts'
import { listen } from '../../src/server/http/listen.ts'
import { openPolicy } from '../../src/server/http/authentication.ts'
import { createRequestChecks } from '../../src/server/http/request-checks.ts'
import { resolveLimits } from '../../src/lib/config/limits.ts'
import { gatewayForms } from '../helpers/gateway-forms.ts'
import { entry, MemoryDirectory } from '../helpers/memory-directory.ts'
import { RawSession } from '../helpers/mcp.ts'
import { facts } from './facts.ts'

export const ids = {
  blender: 'a1b2c3d4-0000-4000-8000-000000000001',
  maya: 'a1b2c3d4-0000-4000-8000-000000000002',
  houdini: 'ffff0000-0000-4000-8000-000000000003',
}

interface TestGateway {
  readonly url: string
  readonly directory: MemoryDirectory
  readonly ring: EventRing
  stop(): Promise<void>
}

type GatewayCheck = (gateway: TestGateway & { readonly session: RawSession }) => Promise<unknown>

/** A section of the specification, or a row of our decisions, as one test a fact and a form. */
export function gatewayFacts(
  section: string,
  rows: readonly (readonly [fact: string, check: GatewayCheck])[],
): void {
  for (const { form, aggregate } of gatewayForms) {
    const checked = rows.map(([fact, check]) => [fact, () => serving(aggregate, check)] as const)
    facts(`${section}, ${form}`, checked)
  }
}

/** A gateway that sees Blender live, Maya stale and Houdini dead. */
async function serving(aggregate: boolean, check: GatewayCheck): Promise<void> {
  const gateway = await startTestGateway(aggregate)
  try {
    gateway.directory.put(
      entry({ instanceId: ids.blender }),
      entry({ instanceId: ids.maya, dccType: 'maya' }, { health: 'stale', reason: 'silent' }),
      entry({ instanceId: ids.houdini, dccType: 'houdini' }, { health: 'dead', reason: 'ended' }),
    )
    await check({ ...gateway, session: await RawSession.open(gateway.url) })
  } finally {
    await gateway.stop()
  }
}

/** The real endpoint on a free port, over a directory that the test fills. */
async function startTestGateway(aggregate: boolean): Promise<TestGateway> {
  const host = '127.0.0.1'
  const limits = { ...resolveLimits(), ...resolveGatewayLimits(), listChangedIntervalMs: 20 }
  const log = silentLogger
  const directory = new MemoryDirectory()
  const ring = new EventRing(limits)
  let port = 0
  const relays = new Relays({
    directory,
    hostname: hostname(),
    instancesDir: '/none',
    mayUseKey: () => false,
    isOwn: () => false,
    clock: systemClock,
    timer: systemTimer,
    limits,
    log,
  })
  const view = openView({
    directory,
    ring,
    relays: aggregate ? relays : undefined,
    catalog: await CatalogFile.open({ path: bundledCatalog, source: 'bundled', limits, log }),
    tools: false,
    self: () => ({ host, port, mcpUrl: `http://${host}:${port}/mcp`, startedMs: 0 }),
    probeOf: () => null,
    whyNotProbed: () => null,
    limits,
    log,
  })
  const handlers = createHandlers({
    ...createRequestChecks({ host }),
    mcp: view.endpoint,
    auth: openPolicy,
    isReady: () => true,
    onRefused: () => {},
    limits,
    log,
    accessLog: accessLogOn(log),
  })
  const listening = await listen({ host, port: 0 }, { ...handlers, limits, log })
  port = listening.address.port
  return {
    url: `http://${host}:${port}/mcp`,
    directory,
    ring,
    async stop() {
      await listening.stop(() => view.close())
      await relays.close()
    },
  }
}
