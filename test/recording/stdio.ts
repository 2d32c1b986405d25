const message = (id: number, method: string, params?: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
})

const conversation = [
  message(1, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'recorder', version: '1' },
  }),
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  message(2, 'resources/list'),
  message(3, 'resources/read', { uri: 'scene://current' }),
  message(4, 'resources/subscribe', { uri: 'scene://current' }),
  message(5, 'resources/read', { uri: 'nothing://x' }),
  message(6, 'unknown/method'),
]

/** Conversations on stdin and stdout. */
export const stdioLines: readonly { args: readonly string[]; messages: readonly object[] }[] = [
  { args: ['connect', '{serve_url}'], messages: conversation },
  { args: ['serve', '--stdio'], messages: conversation },
]
