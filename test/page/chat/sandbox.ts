// The page between a chat and its app, on an origin of its own; its policy binds the app, too.
const inner = document.createElement('iframe')
inner.setAttribute('sandbox', 'allow-scripts allow-same-origin')
document.body.append(inner)

window.addEventListener('message', ({ source, data }: MessageEvent) => {
  if (source === inner.contentWindow) return window.parent.postMessage(data, '*')
  if (source !== window.parent) return
  if (data.method !== 'ui/notifications/sandbox-resource-ready') {
    return inner.contentWindow?.postMessage(data, '*')
  }
  const app = inner.contentDocument!
  app.open()
  app.write(data.params.html)
  app.close()
})

const method = 'ui/notifications/sandbox-proxy-ready'
window.parent.postMessage({ jsonrpc: '2.0', method, params: {} }, '*')
