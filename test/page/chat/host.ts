import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  AppBridge,
  getToolUiResourceUri,
  type McpUiHostContext,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
} from '@modelcontextprotocol/ext-apps/app-bridge'
import type { OpenSettings, Opened } from '../../browser/chat-host.ts'

let bridge: AppBridge

/** A chat: a model has called the tool, and its app is shown beside the answer. */
async function open({ mcpUrl, sandboxUrl, tool, context }: OpenSettings): Promise<Opened> {
  const client = new Client(
    { name: 'chat', version: '1' },
    {
      capabilities: {
        extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } },
      },
      versionNegotiation: { mode: 'auto' },
    },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl)))
  const { tools } = await client.listTools()
  const definition = tools.find(({ name }) => name === tool)!
  const result = await client.callTool({ name: tool, arguments: {} })
  const uri = getToolUiResourceUri(definition)!
  const [content] = (await client.readResource({ uri })).contents
  const { csp } = (content!._meta as { ui: { csp: object } }).ui
  const html = 'text' in content! ? content.text : ''

  const frame = document.createElement('iframe')
  const hostContext = { ...context, toolInfo: { tool: definition } } as McpUiHostContext
  const offers = { serverTools: {} }
  bridge = new AppBridge(client, { name: 'chat', version: '1' }, offers, { hostContext })
  bridge.addEventListener('sizechange', ({ height }) => (frame.style.height = `${height}px`))
  const isInitialized = new Promise<void>(resolve => {
    bridge.addEventListener('initialized', () => resolve())
  })
  await new Promise<void>(resolve => {
    window.addEventListener('message', ({ source, data }) => {
      const isReady = data?.method === 'ui/notifications/sandbox-proxy-ready'
      if (source === frame.contentWindow && isReady) resolve()
    })
    frame.src = `${sandboxUrl}?csp=${encodeURIComponent(JSON.stringify(csp))}`
    document.body.append(frame)
  })
  await bridge.connect(new PostMessageTransport(frame.contentWindow!, frame.contentWindow!))
  await bridge.sendSandboxResourceReady({ html, csp })
  await isInitialized
  await bridge.sendToolInput({ arguments: {} })
  await bridge.sendToolResult(result as Parameters<typeof bridge.sendToolResult>[0])
  return { uri, mimeType: content!.mimeType!, html }
}

Object.assign(window, {
  chat: {
    open,
    change: (context: McpUiHostContext) => bridge.sendHostContextChange(context),
    teardown: () => bridge.teardownResource({}),
    /** From now on no call of the app is answered. */
    hang: () => void (bridge.oncalltool = () => new Promise(() => {})),
  },
})
