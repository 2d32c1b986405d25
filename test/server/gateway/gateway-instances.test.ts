import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type AccessEntry } from '../../../src/lib/util/logger.ts'
import { makeRecord } from './support.ts'
import { until } from '../../helpers/until.ts'
import { freePort } from '../../helpers/free-port.ts'
import { writeInstance } from '../../helpers/instance-files.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { useGateways } from './gateways.ts'

describe('a gateway and its instances', () => {
  const { stateDir, start, serve } = useGateways()

  it('does not probe addresses of other machines', async () => {
    const gateway = await start()
    const foreign = 'http://169.254.169.254'
    const record = makeRecord({ mcp_url: `${foreign}/latest`, host_url: `${foreign}/host` })
    const { instance_id: id } = record
    await writeFile(join(stateDir(), 'instances', `${id}.json`), JSON.stringify(record))
    const session = await RawSession.open(gateway.url)
    const found = async () =>
      (await session.readJson('gateway://diagnostics/process')).instances.find(
        (row: any) => row.instance_id === id,
      )
    await until(async () => (await found()) !== undefined, 'it is there')
    expect((await found()).diagnostics).to.include({
      not_probed: 'its address is not one of this machine alone',
      probed_at: null,
    })
  })

  describe('when it probes', () => {
    const sockets = new Set<Socket>()
    let close = () => {}
    afterEach(() => {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      close()
    })

    /** Takes connections and says nothing. */
    async function mute(): Promise<string> {
      const server = createTcpServer(socket => sockets.add(socket)).listen(0, '127.0.0.1')
      await once(server, 'listening')
      close = () => server.close()
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
    }

    it('shows a silent instance as unhealthy and unreachable', async () => {
      const instance = await writeInstance(stateDir(), { url: await mute() })
      const probing = { probeIntervalMs: 20, probeTimeoutMs: 100 }
      const gateway = await start({ limits: probing })
      const session = await RawSession.open(gateway.url)
      const read = async () => (await session.readJson('gateway://instances')).instances[0]
      await until(async () => (await read()).health === 'unhealthy', 'it is unhealthy')
      expect(await read()).to.include({ status: 'unreachable' })
      const process = await session.readJson('gateway://diagnostics/process')
      expect(process.counts).to.include({ live: 0, unhealthy: 1 })
      await instance.remove()
    })

    it('stops without waiting for an answer', async () => {
      const instance = await writeInstance(stateDir(), { url: await mute() })
      const gateway = await start({ limits: { probeTimeoutMs: 600_000 } })
      await until(() => sockets.size > 0, 'it asks')
      await gateway.stop()
      await instance.remove()
    })

    it('never probes itself', async () => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}/mcp`
      const instance = await writeInstance(stateDir(), { url })
      const paths: string[] = []
      const accessLog = ({ path }: AccessEntry) => void paths.push(path)
      await start({ port, accessLog, limits: { probeIntervalMs: 10 } })
      // One that is asked in the same rounds.
      const other = await serve({})
      const session = await RawSession.open(url)
      const probed = async () =>
        (await session.readJson('gateway://diagnostics/process')).instances.find(
          (row: any) => row.instance_id === other.instanceId,
        )?.diagnostics.probed_at
      await until(async () => typeof (await probed()) === 'string', 'the other one is asked')
      expect(paths).not.to.include('/readyz')
      await instance.remove()
    })
  })

  it('removes the record of a dead process and reports it once', async () => {
    const { pid } = spawnSync(process.execPath, ['--version'])
    const instance = await writeInstance(stateDir(), { pid, heartbeatMs: 600_000 })
    const gateway = await start({ limits: { reapAfterMs: 0, recordScanMs: 20 } })
    const session = await RawSession.open(gateway.url)
    const ring = async () =>
      (await session.call('resources/read', { uri: 'resources://gateway/events' })).result
        .contents[0].text
    await until(async () => (await ring()).includes('"ghost_reaped"'), 'it is cleared away')
    expect((await ring()).match(/"ghost_reaped"/g)).to.have.length(1)
    expect(await readdir(join(stateDir(), 'instances'))).to.deep.equal([])
    await instance.remove()
  })
})
