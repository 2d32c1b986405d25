import { expect } from 'chai'
import { ask, startServer, type TestServer } from '../../helpers/mcp.ts'

describe('public documents', () => {
  const page = 'https://studio.example'
  let server: TestServer
  before(async () => {
    const fails = () => {
      throw new Error('inner secret')
    }
    const documents = new Map<string, () => object>([['/b', fails]])
    server = await startServer({ allowedOrigins: [page] }, { documents })
  })

  it('that fail are a 500 without a word about why', async () => {
    const answer = await ask(`${server.base}/b`)
    expect(answer.status).to.equal(500)
    expect(answer.text).not.to.include('inner secret')
  })

  it('tell a client that wants to register to send a key, in the words of OAuth too', async () => {
    const init = { method: 'POST', body: '{"client_name":"x"}', headers: { Origin: page } }
    const { status, headers, json } = await ask(`${server.base}/register`, init)
    expect(status).to.equal(404)
    expect(headers).to.include({ 'access-control-allow-origin': page })
    expect(json).to.include({ code: 'route-not-found', error: 'invalid_request' })
    expect(json.error_description).to.equal(json.detail)
    expect(json.detail).to.match(/clients are not registered here.*Authorization: Bearer/)
  })
})
