import { expect } from 'chai'
import { ask, startServer } from '../../helpers/mcp.ts'

describe('public documents', () => {
  it('are asked for at every request: what they say may change', async () => {
    const answers = [{ round: 1 }, { round: 2 }]
    const read = () => answers.shift() ?? {}
    const server = await startServer({}, { documents: new Map([['/a', read]]) })
    const first = await ask(`${server.base}/a`)
    expect(first.json).to.deep.equal({ round: 1 })
    expect(first.headers).to.include({
      'content-type': 'application/json',
      'cache-control': 'no-cache',
    })
    expect((await ask(`${server.base}/a`)).json).to.deep.equal({ round: 2 })
    await server.stop()
  })

  it('that fail are a 500 without a word about why', async () => {
    const fails = () => {
      throw new Error('inner secret')
    }
    const server = await startServer({}, { documents: new Map([['/a', fails]]) })
    const answer = await ask(`${server.base}/a`)
    expect(answer.status).to.equal(500)
    expect(answer.text).not.to.include('inner secret')
    await server.stop()
  })
})

describe('a client that wants to register', () => {
  it('is told to send a key, in the words of OAuth too, and so is a page', async () => {
    const page = 'https://studio.example'
    const server = await startServer({ allowedOrigins: [page] })
    const init = { method: 'POST', body: '{"client_name":"x"}', headers: { Origin: page } }
    const { status, headers, json } = await ask(`${server.base}/register`, init)
    expect(status).to.equal(404)
    expect(headers).to.include({
      'content-type': 'application/problem+json',
      'access-control-allow-origin': page,
    })
    expect(json).to.include({ code: 'route-not-found', error: 'invalid_request' })
    expect(json.error_description).to.equal(json.detail)
    expect(json.detail).to.match(/clients are not registered here.*Authorization: Bearer/)
    await server.stop()
  })
})
