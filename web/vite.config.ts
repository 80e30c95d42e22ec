import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.MILL_URL ?? "http://127.0.0.1:8420";

export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../src/millpond/api/static",
    emptyOutDir: true,
    target: "es2022",
    chunkSizeWarningLimit: 900,
    rolldownOptions: {
      output: {
        // Few files rather than many: a browser opens only six connections to a server without HTTP/2.
        codeSplitting: {
          groups: [
            // First: a group takes along what its modules import, and everything imports this.
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\// },
            // Without their styles, which the first page brings: it waits for nothing else of them.
            { name: "charts", test: /node_modules\/uplot\/.*js$/ },
            { name: "lists", test: /node_modules\/(anser|@tanstack\/(react-virtual|virtual-core))\// },
            // Only those who open such files load them.
            { name: "comparison", test: /node_modules\/diff\// },
            { name: "parquet", test: /node_modules\/(hyparquet|hyparquet-compressors|fzstd|hysnappy)\// },
            { name: "markdown", test: /node_modules\/marked\// },
            { name: "figures", test: /node_modules\/(echarts|zrender)\// },
            { name: "terminal", test: /node_modules\/@xterm\// },
            {
              name: "mantine",
              test: /node_modules\/(@mantine|@floating-ui|react-remove-scroll|react-textarea-autosize)\//,
            },
            { name: "vendor", test: /node_modules/ },
            {
              name: "shared",
              test: /src\/(api|components|hooks|lib)\/(?!curves\/|figures\/|(Chart|ChartTable|Plot|Readout)\.tsx)/,
              minShareCount: 2,
            },
          ],
        },
      },
    },
  },
  worker: { format: "es" },
  server: { proxy: { "/api": server, "/lake": server } },
  test: {
    environment: "happy-dom",
    setupFiles: ["src/testing/setup.ts"],
    // One world for all files: making one for each takes five times as long as all tests. Each leaves it as it was.
    isolate: false,
    // Five seconds, which it would be otherwise, are not long on loaded cores.
    testTimeout: 60_000,
    restoreMocks: true,
    unstubGlobals: true,
  },
});
