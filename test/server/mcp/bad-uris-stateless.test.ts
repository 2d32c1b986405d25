import { expect } from 'chai'
import { apiKeyPolicy } from '../../../src/server/http/authentication.ts'
import { type Answer, ask, Events, startServer, type TestServer } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'

const key = { Authorization: 'Bearer the-key-of-those-who-may-read' }
const invalid = -32602
const maxUriChars = 2048

/** Prompt is what a test has time for: a pattern that backtracks takes minutes, or years. */
describe('bad addresses in the stateless transport, on a server with a key', () => {
  let running: TestServer

  before(async () => {
    const auth = apiKeyPolicy(key.Authorization.slice('Bearer '.length))
    running = await startServer({ enableArtefactResources: true }, { auth })
  })
  after(() => running.stop())

  /** `name` stands in the header that repeats the URI, which holds short ASCII alone. */
  function read(uri: string, name = uri): Promise<Answer> {
    return ask(running.url, {
      method: 'POST',
      headers: { ...statelessHeaders('resources/read', { uri: name }), ...key },
      body: JSON.stringify(statelessRequest('resources/read', { uri })),
    })
  }

  async function listen(uris: readonly string[]): Promise<Events> {
    const method = 'subscriptions/listen'
    const params = { notifications: { resourceSubscriptions: uris } }
    const body = JSON.stringify(statelessRequest(method, params))
    return Events.open(running.url, { ...statelessHeaders(method), ...key }, body)
  }

  const starts = [
    'scene://',
    'scene:',
    'artefact://sha256/',
    'audit://recent?',
    'events://session/',
  ]
  const pieces = ['a', ',', '%41', '%25', '%2525', '/', '//', '@', ':', '[', '{', '(', '\\', '..']
  const queries = ['&a=', '?', ';', '.%2f', 'limit=1&', '#', '+', '*', '%', '%u', '%00', '%c0%af']
  const catastrophic = starts.flatMap(start =>
    [...pieces, ...queries].map(
      piece => start + piece.repeat(maxUriChars).slice(0, maxUriChars - start.length),
    ),
  )

  it('are answered promptly when read, as long as an address may be', async () => {
    for (const uri of catastrophic) {
      const { result, error } = (await read(uri)).json
      // Unknown parameters of the audit are ignored: those it answers.
      if (error === undefined)
        expect(result.contents[0].uri)
          .to.equal(uri)
          .and.match(/^audit:/)
      else expect(error.code, uri.slice(0, 40)).to.equal(invalid)
    }
  })

  it('are answered promptly when listened to, all at once', async () => {
    for (const uri of catastrophic) {
      const outcome = await listen([uri]).then(
        events => events,
        (error: unknown) => String(error),
      )
      if (outcome instanceof Events) outcome.close()
      else expect(outcome, uri.slice(0, 40)).to.match(/"code":-32602/)
    }
    const wellFormed = Array.from({ length: 500 }, (_, at) => `scene://${','.repeat(2000)}${at}`)
    const events = await listen(wellFormed)
    await events.until(() => events.messages.length > 0, 'the acknowledgement')
    events.close()
  })

  it('end at 2048 characters, in the body and in the header beside it', async () => {
    for (const piece of ['x', ',', '%41']) {
      const longest = `scene://${piece.repeat(maxUriChars)}`.slice(0, maxUriChars)
      const whole = longest.replace(/%4?$/, 'xx').slice(0, maxUriChars)
      const { json: taken } = await read(whole)
      expect(taken.error).to.deep.include({ code: invalid, data: { uri: whole } })
      const { json: refused } = await read(`${whole}x`)
      expect(refused.error.code).to.equal(invalid)
      expect(refused.error.data).to.equal(undefined)
      expect(JSON.stringify(refused)).to.have.length.below(500)
    }
  })

  it('of nearly 1 MB are refused promptly, whatever they are made of', async () => {
    const size = 1_000_000
    for (const piece of [...pieces, '%', '\u00e9', '\u{1f3ac}', '\\"', '\n']) {
      const uri = `artefact://${piece.repeat(size / Buffer.byteLength(JSON.stringify(piece)))}`
      const answer = await read(uri, 'artefact://x')
      expect(answer.status, piece).to.equal(400)
      expect(answer.text).to.have.length.below(1000)
      const body = JSON.stringify(
        statelessRequest('subscriptions/listen', {
          notifications: { resourceSubscriptions: [uri] },
        }),
      )
      const headers = { ...statelessHeaders('subscriptions/listen'), ...key }
      const listening = await ask(running.url, { method: 'POST', headers, body })
      expect(listening.json.error.code, piece).to.equal(invalid)
      expect(listening.text).to.have.length.below(1000)
    }
  })

  it('in a header that would take long to decode are refused by their length', async () => {
    for (const name of ['%41', ',', '=?base64?', 'QUFB'].map(piece => piece.repeat(3000))) {
      const answer = await read('scene://current', name.slice(0, 12_000))
      expect(answer.status).to.equal(400)
      expect(answer.text).to.have.length.below(1000)
    }
  })
})
