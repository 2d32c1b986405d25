import { expect } from 'chai'
import { isLocalOnly } from '../../../src/server/accounts/accounts-server.ts'

describe('isLocalOnly', () => {
  const alone = { host: '127.0.0.1', publicUrl: undefined, allowedHosts: [] }
  const cases: [where: Partial<Parameters<typeof isLocalOnly>[0]>, local: boolean][] = [
    [{}, true],
    [{ host: '::1' }, true],
    [{ host: 'localhost' }, true],
    [{ host: '0.0.0.0' }, false],
    [{ host: '192.0.2.1' }, false],
    [{ publicUrl: 'http://localhost:8780' }, true],
    [{ publicUrl: 'http://[::1]:8780' }, true],
    [{ publicUrl: 'https://registry.studio.example' }, false],
    [{ host: '0.0.0.0', publicUrl: 'http://localhost:8780' }, false],
    [{ allowedHosts: ['localhost:80', '[::1]:80', '[::1]', '127.0.0.2'] }, true],
    [{ allowedHosts: ['localhost', 'registry.studio.example'] }, false],
    [{ allowedHosts: ['registry.studio.example:443'] }, false],
    [{ trustedProxies: ['127.0.0.1'] }, false],
  ]
  for (const [where, local] of cases) {
    it(`${local ? 'takes' : 'does not take'} ${JSON.stringify(where)} for this machine alone`, () => {
      expect(isLocalOnly({ ...alone, ...where })).to.equal(local)
    })
  }
})
