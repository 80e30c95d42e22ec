import { useEffect, useState } from "react";

/** The present moment, renewed every `milliseconds`; 0 stops the clock. */
export function useNow(milliseconds: number): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    if (milliseconds === 0) return;
    const timer = setInterval(() => setNow(new Date()), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
  return now;
}
