// Plays a phone with react-native-biometrics against a backend: `node wrapper.mjs ORIGIN PLATFORM`. Prints the step of each call.

import { randomUUID } from "node:crypto";
import { DeviceKeys, fetchBackend } from "touchstone-kit";
import { wrapperKey } from "touchstone-kit/react-native";
import { Wrapper } from "./stand-ins.mjs";

const [, , origin, platform] = process.argv;
const isApple = platform === "ios";
let [item, fingers] = [null, "ZmluZ2Vycw=="];
const phone = {
  async answers() {
    if (!isApple) return { platform, system_version: "14", model: "Pixel 8", can_authenticate: 0, device_secure: true };
    return { platform, system_version: "18.1", model: "iPhone15,2", biometry_type: 2, domain_state: fingers };
  },
  read: async () => item,
  write: async (text) => void (item = text),
  installation: async () => "i-1",
  uuid: randomUUID,
};
const wrapper = new Wrapper();
const device = wrapperKey(wrapper, phone, isApple ? "BIOMETRY_ANY" : "BIOMETRY_CURRENT_SET");
const keys = new DeviceKeys({ application_id: "shop", backend: fetchBackend(`${origin}/touchstone`) }, device);
const steps = [];
const step = async (name, call) => steps.push([name, (({ step, refused, answer }) => refused ?? answer?.outcome ?? step)(await call)]);

await step("enable", keys.enable("alice", "Phone", "Enable"));
await step("login", keys.login());
await step("pay", keys.pay({ amount: "4.20", currency: "EUR", payee: "Café Touchstone", reference: "order-1" }));
wrapper.cancels = true;
await step("canceled", keys.login());
wrapper.cancels = false;
const right = wrapper.key;
await wrapper.createKeys();
await step("another key", keys.login());
wrapper.key = right;
await step("retry", keys.retry());
fingers = "b3RoZXIgZmluZ2Vycw==";
await step("another finger", keys.login());
console.log(JSON.stringify(steps));
