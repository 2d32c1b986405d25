import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { parseAccountsUrl, requireAccountsUrl } from '../../../src/lib/config/accounts-url.ts'

describe('parseAccountsUrl', () => {
  const accepted: [text: string, url: string, exposed: boolean][] = [
    ['https://registry.example', 'https://registry.example', false],
    [' https://Registry.EXAMPLE:443/ ', 'https://registry.example', false],
    ['https://studio.example/registry//', 'https://studio.example/registry', false],
    ['http://127.0.0.1:8780', 'http://127.0.0.1:8780', false],
    ['http://localhost:8780/', 'http://localhost:8780', false],
    ['http://[::1]:8780', 'http://[::1]:8780', false],
    ['http://registry.example', 'http://registry.example', true],
    ['http://127.0.0.1.evil.example', 'http://127.0.0.1.evil.example', true],
    ['http://0.0.0.0:8780', 'http://0.0.0.0:8780', true],
  ]
  for (const [text, url, exposed] of accepted) {
    it(`makes ${url} of ${JSON.stringify(text)}`, () => {
      const parsed = parseAccountsUrl(text)
      expect(parsed.ok && parsed.value).to.include({ url, exposed })
      expect(parsed.ok && new URL(parsed.value.url).origin).to.equal(
        parsed.ok && parsed.value.origin,
      )
    })
  }

  for (const text of [
    '',
    'registry.example',
    'https:///registry.example',
    'ftp://registry.example',
    'https://user:pass@registry.example',
    'https://registry.example?x=1',
    'https://registry.example#x',
    'https://registry.\nexample',
    'https:\\\\registry.example',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(parseAccountsUrl(text).ok).to.equal(false)
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
