import { Skeleton, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import type { ECharts, EChartsCoreOption } from "echarts/core";
import { useEffect, useRef, useState } from "react";

interface Props {
  label: string;
  height: number;
  option: EChartsCoreOption;
  /** By name of ECharts' events, like `click`. Called with what the newest drawing gives. */
  on?: Readonly<Record<string, (event: never, chart: ECharts) => void>>;
}

/** A figure of ECharts, whose code is loaded with the first of them. */
export function Figure({ label, height, option, on }: Props) {
  const scheme = useComputedColorScheme("light");
  const { ref: sized, width } = useElementSize<HTMLDivElement>();
  const place = useRef<HTMLDivElement>(null);
  const [chart, setChart] = useState<ECharts | null>(null);
  const handlers = useRef(on);
  handlers.current = on;

  useEffect(() => {
    let made: ECharts | null = null;
    let gone = false;
    void import("./echarts").then(({ init }) => {
      if (gone || !place.current) return;
      made = init(place.current, scheme === "dark" ? "dark" : null) as ECharts;
      for (const name of Object.keys(handlers.current ?? {})) {
        const shown = made;
        made.on(name, (event) => handlers.current?.[name]?.(event as never, shown));
      }
      setChart(made);
    });
    return () => {
      gone = true;
      made?.dispose();
      setChart(null);
    };
  }, [scheme]);

  useEffect(() => {
    chart?.setOption({ backgroundColor: "transparent", animation: false, ...option }, { notMerge: true });
  }, [chart, option]);

  useEffect(() => {
    if (width > 0) chart?.resize({ width, height });
  }, [chart, width, height]);

  return (
    <div ref={sized} style={{ height, overflow: "hidden" }}>
      {!chart && <Skeleton height={height} />}
      <div ref={place} role="img" aria-label={label} style={{ height }} />
    </div>
  );
}
