import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { parseAccountsUrl, requireAccountsUrl } from '../../../src/lib/config/accounts-url.ts'

describe('parseAccountsUrl', () => {
  const accepted: [text: string, url: string, loopback: boolean, exposed: boolean][] = [
    ['https://registry.example', 'https://registry.example', false, false],
    [' https://Registry.EXAMPLE:443/ ', 'https://registry.example', false, false],
    ['https://studio.example/registry//', 'https://studio.example/registry', false, false],
    ['http://127.0.0.1:8780', 'http://127.0.0.1:8780', true, false],
    ['http://localhost:8780/', 'http://localhost:8780', true, false],
    ['http://[::1]:8780', 'http://[::1]:8780', true, false],
    ['http://registry.example', 'http://registry.example', false, true],
    ['http://127.0.0.1.evil.example', 'http://127.0.0.1.evil.example', false, true],
    ['http://0.0.0.0:8780', 'http://0.0.0.0:8780', false, true],
  ]
  for (const [text, url, loopback, exposed] of accepted) {
    it(`makes ${url} of ${JSON.stringify(text)}`, () => {
      const parsed = parseAccountsUrl(text)
      expect(parsed.ok && parsed.value).to.include({ url, loopback, exposed })
      expect(parsed.ok && new URL(parsed.value.url).origin).to.equal(
        parsed.ok && parsed.value.origin,
      )
    })
  }

  const refused: [text: string, fault: string][] = [
    ['', 'not_a_url'],
    ['registry.example', 'not_a_url'],
    ['https:///registry.example', 'not_a_url'],
    [`https://x.example/${'a'.repeat(3000)}`, 'not_a_url'],
    ['ftp://registry.example', 'wrong_scheme'],
    ['https://user:pass@registry.example', 'with_credentials'],
    ['https://registry.example?x=1', 'with_query'],
    ['https://registry.example#x', 'with_query'],
    ['https://registry.\nexample', 'with_text_that_is_no_address'],
    ['https:\\\\registry.example', 'with_text_that_is_no_address'],
  ]
  for (const [text, fault] of refused) {
    it(`refuses ${JSON.stringify(text.slice(0, 60))}: ${fault}`, () => {
      expect(parseAccountsUrl(text)).to.deep.equal({ ok: false, failure: fault })
    })
  }

  it('names the source and not the text when it refuses', () => {
    const run = () => requireAccountsUrl('https://user:hunter2hunter2@x.example', '--registry')
    expect(run).to.throw(ServiceError, /^the address of --registry holds a user name or password$/)
  })

  it('refuses plain http to another machine', () => {
    const run = () => requireAccountsUrl('http://registry.example', '--registry')
    expect(run).to.throw(
      ServiceError,
      'http://registry.example would receive secrets over plain http',
    )
  })
})
