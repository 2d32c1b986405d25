import { expect } from 'chai'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { ask } from '../../helpers/mcp.ts'
import { PageBrowser, useKey, useLink } from '../../helpers/page.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'
import { baseOf, createMemoryLog, keyed, useGateways } from './gateways.ts'

describe('the page of a gateway', () => {
  const { start, serve } = useGateways()

  const readInstances = async (url: string, headers: Record<string, string>) => {
    const params = { uri: 'gateway://instances' }
    return ask(url, {
      method: 'POST',
      headers: { ...statelessHeaders('resources/read', params), ...headers },
      body: JSON.stringify(statelessRequest('resources/read', params)),
    })
  }

  it('is let in by a link, reads the instances, and writes nothing', async () => {
    await serve({})
    const gateway = await start({ auth: keyed, page: true })
    const base = baseOf(gateway)
    const link = gateway.pageLogin()
    expect(link).to.match(new RegExp(`^${base}/#login=`))
    const own = new PageBrowser(base, await useLink(base, link))
    expect((await useLink(base, link)).status).to.equal(403)
    const bearer = await own.bearer()
    expect((await readInstances(gateway.url, {})).status).to.equal(401)
    const { json } = await readInstances(gateway.url, bearer)
    expect(JSON.parse(json.result.contents[0].text).instances).to.have.length(1)
    for (const path of ['/page/notes', '/page/artefacts', '/host/v1/page-login']) {
      const answer = await own.post(path, { text: 'x' })
      expect([answer.status, answer.json.code], path).to.deep.equal([404, 'route-not-found'])
    }
    await own.logOut()
    expect((await readInstances(gateway.url, bearer)).status).to.equal(401)
  })

  it('is let in by a key, and logs refusals without secrets', async () => {
    const log = createMemoryLog()
    const entries: AccessEntry[] = []
    const accessLog = (entry: AccessEntry) => void entries.push(entry)
    const gateway = await start({ auth: keyed, page: true, log, accessLog })
    const base = baseOf(gateway)
    expect((await useKey(base, 'not-the-key-of-clients')).status).to.equal(401)
    const own = new PageBrowser(base, await useKey(base, keyed.key))
    const token = await own.token()
    const written = JSON.stringify([log.lines, entries])
    expect(written).to.contain('"reason":"login"').and.to.contain('/page/session/token')
    for (const secret of [token, own.cookie, keyed.key]) expect(written).not.to.contain(secret)
  })

  it('is not there unless it is asked for', async () => {
    const gateway = await start()
    expect(gateway.pageLogin()).to.equal(null)
    expect((await ask(`${baseOf(gateway)}/`)).status).to.equal(404)
  })
})
