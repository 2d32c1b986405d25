/** Rows of an instance behind a gateway: on the same machine, and joined over a link. */
import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { makePair, writePair } from '../../test/helpers/certificate.ts'
import { until } from '../../test/helpers/until.ts'
import type { Bench } from '../bench.ts'
import { makeSceneText, sceneUri } from '../fixture.ts'
import { measureWork, Streams } from '../load.ts'
import type { Entry, Row } from '../measure.ts'
import { resultOf, type Server } from '../server.ts'
import { run, startAccounts } from './commands.ts'
import { askingEntry, readsOf } from './requests.ts'

/** Reads and pushes of one instance: direct, and through a gateway that aggregates. */
export async function aggregateRow(bench: Bench): Promise<Row> {
  const serve = await bench.startOurs('serve')
  const gateway = await bench.startOurs('gateway', ['--aggregate'], { folder: serve.folder })
  return compareWays(bench, serve, gateway, 'an instance, direct and through a gateway')
}

/** The same of an instance that joined the gateway, over its link; all over TLS. */
export async function joinedRow(bench: Bench): Promise<Row> {
  const { certFile, keyFile } = await writePair(bench.folder(), makePair())
  tls.setDefaultCACertificates([readFileSync(certFile, 'utf8')])
  const files = ['--tls-cert', certFile, '--tls-key', keyFile]
  const env = await startAccounts(bench)
  const create = [bench.program, 'token', 'create', 'bench', '--scope', 'instance']
  const accepting = ['--aggregate', '--accept-joins', env.SERVICE_REGISTRY ?? '', '--auth', 'none']
  const gateway = await bench.startOurs('gateway', [...accepting, ...files])
  const joining = { SERVICE_JOIN_TOKEN: run(create, env).trim(), NODE_EXTRA_CA_CERTS: certFile }
  const serve = await bench.startOurs('serve', ['--join', `${gateway.origin}/mcp`, ...files], {
    env: joining,
  })
  const title = 'an instance, direct and through a gateway that it joined, over TLS'
  return compareWays(bench, serve, gateway, title)
}

async function compareWays(
  bench: Bench,
  serve: Server,
  gateway: Server,
  title: string,
): Promise<Row> {
  await serve.postScene(makeSceneText(0))
  const id = serve.instanceId
  const session = await gateway.openSession()
  const listing = gateway.call(session, 'resources/read', { uri: 'gateway://instances' })
  const isKnown = async () => (await resultOf(listing)).contents[0].text.includes(id)
  await until(isKnown, 'the gateway knows the instance', 10_000)

  const way = (name: string, server: Server, uris: readonly string[]): Entry => {
    const servers = server === serve ? [serve] : [serve, server]
    const asked = readsOf(server, uris)
    const reads = askingEntry(bench, { name, server, servers, asked, ms: bench.pick(2000, 1000) })
    const push = async (count: number) => {
      const open = await Streams.open(server, 200, uris[0])
      const pushed = await measureWork(servers, () => open.update(serve, count))
      open.close()
      return pushed
    }
    return {
      name,
      prepare: async () => {
        await reads.prepare?.()
        await push(10)
      },
      measure: async () => {
        const figures = await reads.measure()
        const { cpuUs: pushUs = Number.NaN } = await push(bench.pick(100, 40))
        return { ...figures, pushUs }
      },
    }
  }
  // In different spellings: readers of one spelling share a request.
  const spellings = Array.from(
    { length: 16 },
    (_, at) => `instance://${id.slice(0, 20 + at)}/scene/current`,
  )
  return {
    title: `${title}; CPU of both together`,
    reference: 'direct',
    columns: [
      { title: 'read: times the CPU', figure: 'cpuUs', show: 'ratio' },
      { title: 'us/read', figure: 'cpuUs', show: 'value' },
      { title: 'push: times the CPU', figure: 'pushUs', show: 'ratio' },
      { title: 'us/notification', figure: 'pushUs', show: 'value' },
    ],
    entries: [
      way('direct', serve, [sceneUri]),
      way('through the gateway', gateway, spellings),
      way('through it, one spelling', gateway, spellings.slice(0, 1)),
    ],
    rounds: bench.pick(7, 3),
  }
}
