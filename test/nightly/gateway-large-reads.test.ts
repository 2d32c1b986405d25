import { expect } from 'chai'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { startGateway } from '../../src/server/gateway.ts'
import { withFolder } from '../helpers/folder.ts'
import { contentsOf, startScriptedInstance } from '../helpers/scripted-instance.ts'
import { callStateless, statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'

describe('an instance with an address', () => {
  it('is read by others while one client leaves 512 large answers unread', () =>
    withFolder(async registryDir => {
      const instance = await startScriptedInstance(registryDir)
      const gateway = await startGateway({
        port: 0,
        host: '127.0.0.1',
        allowedHosts: [],
        allowedOrigins: [],
        registryDir,
        limits: { instanceAnswerMs: 60_000, instanceSilenceMs: 600_000 },
        standby: true,
        tools: true,
        aggregate: true,
        accessLog: () => {},
        log: silentLogger,
      })
      const at = (path: string) => `instance://${instance.instanceId}/${path}`
      const read = async () => {
        const { json } = await callStateless(gateway.url, 'resources/read', {
          uri: at('scene/current'),
        })
        return json.result?.contents[0].text
      }
      const readLarge = (n: number) => {
        const uri = at(`artefact/${n}`)
        const body = JSON.stringify(statelessRequest('resources/read', { uri }))
        const headers = statelessHeaders('resources/read', { uri })
        return fetch(gateway.url, { method: 'POST', headers, body })
      }
      try {
        await until(async () => (await read()) === 'true', 'the instance')
        const start = Buffer.from(`{"result":{"contents":[{"blob":"${'A'.repeat(300_000)}`)
        instance.onRead = ({ res }) => void res.write(start)
        const answers: Response[] = []
        // Half as many at once as may be open before their answers begin.
        for (let n = 0; n < 512; n += 128) {
          const some = Array.from({ length: 128 }, (_, m) => readLarge(n + m))
          answers.push(...(await Promise.all(some)))
        }
        const refused = await (await readLarge(512)).text()
        expect(refused).to.include('512 large reads of the instance are open')
        instance.onRead = ({ res, id, uri }) => void res.end(contentsOf(uri, 'x', id))
        expect(await read()).to.equal('x')
        for (const { body } of answers) await body?.cancel()
      } finally {
        await gateway.stop()
        await instance.stop()
      }
    }))
})
