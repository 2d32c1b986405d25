import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { requireAccountsUrl } from '../../../src/lib/config/accounts-url.ts'

describe('requireAccountsUrl', () => {
  const accepted: [text: string, url: string][] = [
    [' https://Registry.EXAMPLE:443/ ', 'https://registry.example'],
    ['https://studio.example/registry//', 'https://studio.example/registry'],
    ['http://127.0.0.1:8780', 'http://127.0.0.1:8780'],
    ['http://localhost:8780/', 'http://localhost:8780'],
    ['http://[::1]:8780', 'http://[::1]:8780'],
  ]
  for (const [text, url] of accepted) {
    it(`makes ${url} of ${JSON.stringify(text)}`, () => {
      const { origin } = new URL(url)
      expect(requireAccountsUrl(text, '--registry')).to.deep.equal({ url, origin })
    })
  }

  const refused: [text: string, message: string][] = [
    ['registry.example', 'the address of --registry is not a URL that begins with https://'],
    ['https:///registry.example', 'is not a URL'],
    ['ftp://registry.example', 'is not a URL'],
    ['https://registry.\nexample', 'is not a URL'],
    ['https:\\\\registry.example', 'is not a URL'],
    ['https://user:hunter2@x.example', 'holds a user name or password'],
    ['https://registry.example?x=hunter2', 'holds a query or fragment'],
    ['http://registry.example', 'http://registry.example would receive secrets over plain http'],
    ['http://127.0.0.1.evil.example', 'over plain http'],
    ['http://0.0.0.0:8780', 'over plain http'],
  ]
  for (const [text, message] of refused) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      const run = () => requireAccountsUrl(text, '--registry')
      expect(run).to.throw(ServiceError, message)
      expect(run).not.to.throw('hunter2')
    })
  }
})
