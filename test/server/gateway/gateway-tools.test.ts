import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, initializeBody, postHeaders, RawSession, toolCall } from '../../helpers/mcp.ts'
import { gatewayInProcess, serveInProcess } from '../../helpers/in-process-servers.ts'

describe('tools of a gateway', () => {
  for (const flags of [[], ['--no-tools'], ['--aggregate'], ['--aggregate', '--no-tools']]) {
    it(`are offered, told to the model, and wait for instances: ${flags.join(' ') || 'by default'}`, async () => {
      const registryDir = await mkdtemp(join(tmpdir(), 'gateway-tools-'))
      const gateway = gatewayInProcess({ port: 0, registryDir, flags })
      try {
        const { url } = await gateway.line('listening')
        const body = initializeBody()
        const { json } = await ask(url, { method: 'POST', headers: postHeaders, body })
        const session = await RawSession.open(url)
        const { tools } = (await session.call('tools/list')).result
        if (flags.includes('--no-tools')) {
          expect(tools).to.deep.equal([])
          expect(json.result.instructions).to.not.contain('wait_for_change')
          return
        }
        expect(json.result.instructions).to.contain('wait_for_change')
        const own = ['list_resources', 'read_resource', 'wait_for_change']
        const names: string[] = tools.map((tool: any) => tool.name)
        expect(names.slice(0, own.length)).to.deep.equal(own)
        if (flags.length === 0) expect(names).to.have.length(own.length)
        const removed = await session.call('tools/call', { name: 'list_dcc_instances' })
        expect(removed.error.code).to.equal(-32602)
        const waiting = session.call('tools/call', toolCall('wait_for_change'))
        const serve = await serveInProcess({ registryDir })
        try {
          const { structuredContent } = (await waiting).result
          expect(structuredContent).to.deep.equal({ changed: true, uris: ['gateway://instances'] })
        } finally {
          await serve.stop()
        }
      } finally {
        await gateway.stop()
        await rm(registryDir, { recursive: true, force: true })
      }
    })
  }
})
