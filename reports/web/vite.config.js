// Builds dist/report.html: the page with its script and style inside it and a content security policy
// that names both by their hash, so that it opens from disk and asks nobody for anything.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

// 'sha256-...' of what stands between the tags.
function hash(text) {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

// The page carries parts of these packages, so it carries their licences too.
function licenses() {
  const files = ['echarts/LICENSE', 'echarts/NOTICE', 'zrender/LICENSE'];
  const texts = files.map((file) => `${file}\n\n${readFileSync(`node_modules/${file}`, 'utf8')}`);
  return `<!--\nThis page carries parts of:\n\n${texts.join('\n\n').replaceAll('-->', '-- >')}\n-->`;
}

// CSS has no way to give one block two selectors of which one depends on the system.
function darkScheme() {
  return {
    name: 'dark-scheme',
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith('page.css')) return null;
      const dark = /:root\[data-theme="dark"\] \{([^}]*)\}/.exec(code);
      if (dark === null || !code.includes('@dark;')) throw new Error('page.css: no dark scheme, or no place for it');
      return { code: code.replace('@dark;', () => dark[1]), map: null };
    },
  };
}

function singleFile() {
  return {
    name: 'single-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const page = files.find((file) => file.fileName === 'report.html');
      const script = files.filter((file) => file.type === 'chunk').map((file) => file.code).join('\n').trim();
      const style = files.filter((file) => file.fileName.endsWith('.css')).map((file) => file.source).join('\n').trim();
      if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) {
        throw new Error('the script or the style would end its own element');
      }
      const policy = [
        "default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, 'img-src data:',
        "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
      ].join('; ');
      const html = page.source
        .replace(/<script type="module"[^>]*><\/script>\s*/, '')
        .replace(/<link rel="stylesheet"[^>]*>\s*/, '')
        .replace('<!-- policy -->', () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace('<!-- style -->', () => `<style>${style}</style>`)
        .replace('<!-- script -->', () => `<script type="module">${script}</script>`)
        .replace('<!-- licenses -->', licenses);
      for (const file of files) delete bundle[file.fileName];
      this.emitFile({ type: 'asset', fileName: 'report.html', source: html });
    },
  };
}

export default defineConfig({
  plugins: [darkScheme(), singleFile()],
  build: {
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    rollupOptions: { input: 'report.html' },
  },
});
